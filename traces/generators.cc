#include "traces/generators.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {
namespace {

double DrawGap(const Gap& gap, Random& random) {
  switch (gap.distribution) {
    case Gap::Distribution::kFixed: return gap.mean_s;
    case Gap::Distribution::kExponential: return random.Exponential(gap.mean_s);
    case Gap::Distribution::kNormal: break;
  }
  // The mean is >= 0, so at least every second draw is accepted.
  double seconds = -1;
  while (seconds < 0) seconds = random.Normal(gap.mean_s, gap.sd_s);
  return seconds;
}

const std::string& DrawWorkload(const std::vector<WeightedWorkload>& workloads, double sum,
                                Random& random) {
  double point = random.Uniform() * sum;
  const WeightedWorkload* last = nullptr;
  for (const WeightedWorkload& workload : workloads) {
    if (workload.weight <= 0) continue;
    last = &workload;
    point -= workload.weight;
    if (point < 0) break;
  }
  return last->name;
}

}  // namespace

std::string_view ToString(Gap::Distribution distribution) {
  switch (distribution) {
    case Gap::Distribution::kFixed: return "fixed";
    case Gap::Distribution::kNormal: return "normal";
    case Gap::Distribution::kExponential: return "exponential";
  }
  return "";
}

bool ParseDistribution(std::string_view text, Gap::Distribution* result) {
  using enum Gap::Distribution;
  for (Gap::Distribution distribution : {kFixed, kNormal, kExponential}) {
    if (text == ToString(distribution)) {
      *result = distribution;
      return true;
    }
  }
  return false;
}

JobTrace GenerateTrace(int jobs, const Gap& gap, const std::vector<WeightedWorkload>& workloads,
                       const Random& random) {
  double sum = 0;
  for (const WeightedWorkload& workload : workloads) sum += std::max(0.0, workload.weight);
  CHECK(jobs >= 1 && gap.mean_s >= 0 && gap.sd_s >= 0 && sum > 0)
      << "checked by whoever reads the experiment";
  // Streams of their own: another mix of workloads leaves the times of arrival as they were, and
  // the other way round.
  Random gaps = random.Derive("gaps");
  Random mix = random.Derive("workloads");
  JobTrace trace;
  double seconds = 0;
  for (int job = 0; job < jobs; ++job) {
    if (job > 0) seconds += DrawGap(gap, gaps);
    JobArrival arrival;
    arrival.time = FromSeconds(seconds);
    arrival.workload = DrawWorkload(workloads, sum, mix);
    trace.push_back(std::move(arrival));
  }
  return trace;
}

}  // namespace cosched
