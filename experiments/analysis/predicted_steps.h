#pragma once
// What the simulator says of tenants that compute side by side and stay as they are: the step time
// of each. Its own parts are asked (experiments/hosts/simulation/), so that what is checked here is
// what runs there. Pure; called by `cosched calibrate` and `cosched profile compare`.

#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "workloads/profile.h"

namespace cosched {

struct PlacedTenant {
  std::string program;  // REQUIRES: the profile has it.
  CpuSet cores;
  Split threads;
};

// Seconds, in their order.
std::vector<double> PredictSteps(const Profile& profile, const std::vector<PlacedTenant>& tenants);

}  // namespace cosched
