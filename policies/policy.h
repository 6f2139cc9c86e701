#pragma once
// READ THIS FIRST. A Policy decides who runs on how many cores. It is told a MachineView and an
// Event, returns an Allocation, and touches nothing: the Arbiter checks the answer, revokes before
// it grants, and makes it real through a Host, which may be real processes or a simulator; a policy
// never knows which.
//
// To add one: write policies/<name>.cc (a class, its parameters, one factory) and name the factory
// in registry.cc.

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "policies/machine_view.h"

namespace cosched {

// Why the arbiter asks. A closed set.
struct JobArrived {
  JobId job;
};
// The job's cores are free; it is no longer in the view.
struct JobFinished {
  JobId job;
};
// The same, for a job that died or broke its contract.
struct JobFailed {
  JobId job;
};
// The job runs on exactly the cores of its latest grant; not for policies that say that they have
// no use for it (PolicyInfo::on_settled).
struct GrantSettled {
  JobId job;
};
// A stretch of time is over: MachineView::services tells how each service did in it.
struct WindowOver {};
// Another mean response is wanted of a service from now on.
struct ObjectiveChanged {
  ServiceId service;
};
// Time passed; only for policies that ask for it (Policy::TickPeriod).
struct Tick {};
using Event = std::variant<JobArrived, JobFinished, JobFailed, GrantSettled, WindowOver,
                           ObjectiveChanged, Tick>;

// So much CPU time on the job's node (Job::node; the arbiter chooses one if it has none), beside
// other jobs that have their shares there. A node's cores are shared or owned, never both.
struct Share {
  CpuShare amount;
  // For a job that is to run there now, waits or is paused, and need not stay elsewhere; default:
  // the arbiter's choice. A running job stays where it is.
  std::optional<int> node = {};
  friend bool operator==(const Share&, const Share&) = default;
};

// Run on this many cores (the arbiter places them, moving as little as it can), on exactly these,
// or with a share. For a waiting job this admits it, for a paused one it resumes it, for a running
// one it resizes it. split: left out = Job::SplitOn(cores), of a share as many as can use it. A
// rigid job always computes with its own threads (Job::threads), a moldable one with the split of
// its start.
struct Run {
  std::variant<int, CpuSet, Share> cores;
  std::optional<Split> split;
  // Only of a pipeline, from 1 to its open_range's most: that many requests may be open. Left out =
  // as many as before. Fewer takes nothing back: none is opened until enough have ended.
  std::optional<int> open_requests = {};
};
// Give up all cores at the next safe point, keep memory. Only for a running job. One whose start
// still waits for cores that others are leaving has nothing to keep: its start is called off and it
// waits again.
struct Pause {};
// The job will never run. Only for a waiting one.
struct Reject {
  std::string reason;  // For the person who reads the records; "" = "rejected by the policy".
};
using JobDecision = std::variant<Run, Pause, Reject>;

// The answer. A job that is left out stays as it is.
//
// REQUIRES (the arbiter checks; a policy that breaks one fails its cell, with the reason recorded):
// jobs exist; min <= cores <= max, of a share 0 < amount <= max; only pipelines are told how many
// requests may be open; the sum of all grants fits the machine and each node, and no core is granted
// twice. A policy registered as oversubscribing is free of the last two, and an explicit CpuSet of
// its may exceed a job's max: it says where the kernel may put the job's threads, not how many it
// has.
struct Allocation {
  std::map<JobId, JobDecision> jobs;
};

class Policy {
 public:
  virtual ~Policy() = default;
  // Called by the arbiter on every event, on one thread. No I/O, no clock, no randomness of its
  // own: equal views and events give equal allocations. The view lives until the call returns.
  virtual Allocation Decide(const MachineView& view, const Event& event) = 0;
  // How often it wants a Tick; 0 = never. Never changes.
  virtual Duration TickPeriod() const { return Duration(0); }
};

}  // namespace cosched
