#pragma once
// A tenant run by a person: progress on stderr, resizes in the middle of chosen steps, one summary
// line on stdout. Called by the `tenant` command.

#include <cstdint>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/base/topology.h"
#include "experiments/hosts/tenant_spec.h"

namespace cosched {

struct InteractiveTenantOptions {
  struct Resize {
    int64_t step = 0;  // 0-based: during the step after `step` steps are done.
    int cores = 1;     // The first of `cores`.
  };
  TenantSpec spec;
  CpuSet cores;                 // It runs nowhere else.
  Split threads;                // At the start and at most.
  std::vector<Resize> resizes;  // By ascending step, one a step at most.
};

// Returns the exit code: 0, or 130 after SIGINT or SIGTERM (the summary is printed all the same).
int RunInteractiveTenant(const InteractiveTenantOptions& options, const Topology& topology);

}  // namespace cosched
