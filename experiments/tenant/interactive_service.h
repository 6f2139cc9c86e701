#pragma once
// A service run by a person: it answers requests that it makes up itself, at random times and
// whatever became of those before (an open loop), and prints what they had to wait, from when each
// was due. A line a second on stderr, one for every resize with its cause, a summary on stdout. It
// is resized by `cosched ctl`, by signals and by who changes its cpuset, while it serves. Called by
// the `tenant` command.

#include <cstdint>
#include <string>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/base/topology.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

struct InteractiveServiceOptions {
  TenantSpec spec;
  int64_t requests = 1000;
  double rate = 100;   // Requests a second, on average; the times are a Poisson process.
  double seconds = 0;  // No request is made later than this; 0 = no limit.
  CpuSet cores;        // The service runs nowhere else.
  Split threads;       // At the start and at most.
  FollowRule follow = FollowRule::kCeil;
  std::string control;       // Path of the control socket; "" = the default.
  std::string load_weights;  // A file of workloads/weights_file.h; "" = none.
};

// Returns the exit code: 0, or 130 after SIGINT or SIGTERM (what was asked until then is answered,
// and the summary printed).
int RunInteractiveService(const InteractiveServiceOptions& options, const Topology& topology);

}  // namespace cosched
