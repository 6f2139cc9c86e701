#pragma once
// A job as a policy sees it: what it asks for, and where it stands. Plain data, made by the
// arbiter.

#include <optional>

#include "engine/base/cpu_set.h"
#include "engine/base/cpu_share.h"
#include "policies/job.h"

namespace cosched {

enum class JobState {
  kWaiting,  // arrived, holds no core
  kRunning,  // started; holds `cores`
  kPaused,   // started, holds no core, keeps its memory
};

struct JobView : Job {
  JobState state = JobState::kWaiting;
  TimePoint submitted;  // By its trace, which may be before the policy was first told of it.
  std::optional<TimePoint> started;  // When a decision admitted it; set unless it waits.
  // What it holds or has been promised: the cores of its latest grant. While a revocation is under
  // way the arbiter keeps the cores that the job has not left yet out of FreeCores().
  CpuSet cores;
  CpuSet last_cores;  // While paused: where its memory is, the last cores it held.
  CpuShare amount;    // CPU time that goes with `cores`: all of them, or a share beside others.
  Split split;
  int open_requests = 0;  // Of a pipeline, by its latest grant; else 0.

  bool IsActive() const { return state == JobState::kRunning; }
  // It has a share of its cores, beside others; else they are its own.
  bool Shares() const {
    return IsActive() && amount.milli > 0 && amount != CpuShare::OfCores(cores.Count());
  }
};

}  // namespace cosched
