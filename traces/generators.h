#pragma once
// Draws traces: a number of jobs, the gaps between their arrivals, and which workload each of them
// runs. Pure: equal options and seeds give equal traces on every platform.

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/random.h"
#include "traces/job_arrival.h"

namespace cosched {

// The time between two arrivals.
struct Gap {
  enum class Distribution {
    kFixed,   // always the mean
    kNormal,  // truncated at 0 by drawing again, so its true mean is above mean_s where sd_s is
              // large
    kExponential,  // a Poisson process
  };
  Distribution distribution = Distribution::kNormal;
  double mean_s = 2.0;
  double sd_s = 0.5;  // Of kNormal only.
};
std::string_view ToString(Gap::Distribution distribution);  // "fixed", "normal", "exponential"
bool ParseDistribution(std::string_view text, Gap::Distribution* result);

struct WeightedWorkload {
  std::string name;
  double weight = 1;  // >= 0; a job draws this workload with probability weight / sum of weights.
};

// The first job arrives at 0. REQUIRES: jobs >= 1; mean and deviation >= 0; a positive sum of
// weights.
JobTrace GenerateTrace(int jobs, const Gap& gap, const std::vector<WeightedWorkload>& workloads,
                       const Random& random);

}  // namespace cosched
