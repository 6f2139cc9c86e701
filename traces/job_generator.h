#pragma once
// Draws an experiment's trace: a number of jobs, the gaps between their arrivals, and which
// workload each of them runs. Pure: equal options and seeds give equal traces on every platform.
// Traces of any length come from generators/generated_trace.h.

#include <string>
#include <vector>

#include "engine/base/random.h"
#include "traces/generators/distribution.h"
#include "traces/job_trace.h"

namespace cosched {

struct WeightedWorkload {
  std::string name;
  double weight = 1;  // >= 0; a job draws this workload with probability weight / sum of weights.
};

// The first job arrives at 0. Gaps in seconds. REQUIRES: jobs >= 1; a distribution that Sampler
// takes; a positive sum of weights.
JobTrace GenerateTrace(int jobs, const Distribution& gap,
                       const std::vector<WeightedWorkload>& workloads, const Random& random);

}  // namespace cosched
