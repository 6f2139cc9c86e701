#pragma once
// What programs that a person runs have in common: where they run, how they are steered, and what the
// person is told of it. Called by the interactive tenant, service and command; any thread.

#include <string>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/base/topology.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/tenant/control_thread.h"
#include "workloads/training_job.h"

namespace cosched {

// This process and all its threads to these cores. Throws InputError where the kernel refuses.
void ConfineToCores(const CpuSet& cores, const Topology& topology);

// Steered through the socket at `control`, which must then be had, or through the default one ("").
ControlThreadOptions SteeredThrough(const std::string& control, FollowRule follow,
                                    const CpuSet& cores);

// "steer it with: cosched ctl 123 status|…"
std::string SteeringHint(const std::string& control);

// So many threads at the start and at most, which go where the rule lets them.
SessionOptions SteeredSession(Split threads, FollowRule follow, const Topology& topology);

}  // namespace cosched
