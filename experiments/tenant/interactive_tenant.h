#pragma once
// A tenant run by a person: progress on stderr, a line there for every resize with its cause, a
// summary on stdout. It is resized by counters of its own run, by `cosched ctl`, by signals and by
// who changes its cpuset. Called by the `tenant` command.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/base/topology.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

struct InteractiveTenantOptions {
  struct Resize {
    int64_t at = 0;              // During the step after so many are done, or
    bool node = false;           // … once so many nodes of the graph have begun.
    int cores = 1;               // The first of `cores`.
    std::optional<Split> split;  // Left as it is if not given.
  };
  TenantSpec spec;              // 0 steps: until it is stopped.
  double seconds = 0;           // Ends after the step in which they are over; 0 = no limit.
  CpuSet cores;                 // The program runs nowhere else.
  Split threads;                // At the start and at most.
  std::vector<Resize> resizes;  // By ascending step, one a step at most; those at nodes last.
  std::string control;          // Path of the control socket; "" = the default.
  FollowRule follow = FollowRule::kCeil;
  int64_t first_image = 0, images = 0;  // The part of the data set; 0 images: all that follow.
  std::string load_weights;             // Files of weights; "": none.
  std::string save_weights;             // After the last step; of training only.
};

// Returns the exit code: 0, or 130 after SIGINT or SIGTERM (the summary is printed all the same).
int RunInteractiveTenant(const InteractiveTenantOptions& options, const Topology& topology);

}  // namespace cosched
