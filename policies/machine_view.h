#pragma once
// Everything a policy is told: a snapshot of the machine and of every job that has arrived and not
// ended. Plain data, made by the arbiter for each decision.

#include <optional>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"
#include "policies/job.h"

namespace cosched {

enum class JobState {
  kWaiting,  // arrived, holds no core
  kRunning,  // started; holds `cores`
  kPaused,   // started, holds no core, keeps its memory
};

struct JobView : Job {
  JobState state = JobState::kWaiting;
  TimePoint submitted;
  std::optional<TimePoint> started;  // When a decision admitted it; set unless it waits.
  // What it holds or has been promised: the cores of its latest grant. While a revocation is under
  // way the arbiter keeps the cores that the job has not left yet out of FreeCores().
  CpuSet cores;
  CpuSet last_cores;  // While paused: where its memory is, the last cores it held.
  Split split;
  double progress = 0;  // Share of its steps done, 0..1; 0 while unknown.

  bool IsActive() const { return state == JobState::kRunning; }
};

struct MachineView {
  const Topology* topology = nullptr;  // Never null.
  TimePoint now;
  CpuSet cores;     // All that the experiment may use.
  CpuSet vacating;  // Revoked from jobs that have not left them yet; a grant of these takes longer.
  std::vector<JobView> jobs;  // In order of submission.

  const JobView* Find(JobId id) const;  // nullptr if it has ended or never was.
  // Cores that no running job holds by its latest grant and that nobody is about to leave.
  CpuSet FreeCores() const;
};

}  // namespace cosched
