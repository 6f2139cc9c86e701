#pragma once
// READ THIS FIRST. A Policy decides who runs on how many cores. It is told a MachineView and an Event, returns an Allocation,
// and touches nothing: the Arbiter checks the answer, revokes before it grants, and makes it real through a Host, which may
// be real processes or a simulator; a policy never knows which.
//
// To add one: write policies/<name>.cc (a class, its parameters, one factory) and name the factory in registry.cc.

#include <map>
#include <optional>
#include <variant>

#include "policies/machine_view.h"

namespace cosched {

// Why the arbiter asks. A closed set.
struct JobArrived { JobId job; };
struct JobFinished { JobId job; };  // Its cores are free; it is no longer in the view.
struct JobFailed { JobId job; };    // The same, for a job that died or broke its contract.
struct GrantSettled { JobId job; };  // The job runs on exactly the cores of its latest grant.
struct Tick {};                      // Time passed; only for policies that ask for it (PolicyInfo::tick).
using Event = std::variant<JobArrived, JobFinished, JobFailed, GrantSettled, Tick>;

// Run on this many cores (the arbiter places them, moving as little as it can), or on exactly these. For a waiting job this
// admits it, for a paused one it resumes it, for a running one it resizes it. split: left out = DefaultSplit.
struct Run {
  std::variant<int, CpuSet> cores;
  std::optional<Split> split;
};
struct Pause {};   // Give up all cores at the next safe point, keep memory. Only for a running job.
struct Reject {};  // It will never run. Only for a waiting job.
using JobDecision = std::variant<Run, Pause, Reject>;

// The answer. A job that is left out stays as it is.
//
// REQUIRES (the arbiter checks; a policy that breaks one fails its cell, with the reason recorded): jobs exist;
// min <= cores <= max; the sum of all grants fits the machine, and no core is granted twice, unless the policy is registered
// as oversubscribing.
struct Allocation {
  std::map<JobId, JobDecision> jobs;
};

class Policy {
 public:
  virtual ~Policy() = default;
  // Called by the arbiter on every event, on one thread. No I/O, no clock, no randomness of its own: equal views and events
  // give equal allocations. The view lives until the call returns.
  virtual Allocation Decide(const MachineView& view, const Event& event) = 0;
};

}  // namespace cosched
