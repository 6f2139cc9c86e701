#include "traces/job_generator.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

// Random's own exponential where Sampler would take a faster one: published seeds have been drawn
// by it, and keep giving the same trace.
double DrawGap(const Sampler& sampler, const Distribution& gap, Random& random) {
  return gap.kind == Distribution::Kind::kExponential ? random.Exponential(gap.mean)
                                                      : sampler.Draw(random);
}

constexpr double kLongestSeconds = 9e9;  // Nanoseconds have 63 bits.

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

JobTrace GenerateTrace(int jobs, const Distribution& gap,
                       const std::vector<WeightedWorkload>& workloads, const Random& random) {
  double sum = 0;
  for (const WeightedWorkload& workload : workloads) sum += std::max(0.0, workload.weight);
  CHECK(jobs >= 1 && sum > 0) << "checked by whoever reads the experiment";
  const Sampler sampler(gap);
  // Streams of their own: another mix of workloads leaves the times of arrival as they were, and
  // the other way round.
  Random gaps = random.Derive("gaps");
  Random mix = random.Derive("workloads");
  JobTrace trace;
  trace.Reserve(static_cast<size_t>(jobs));
  JobArrival arrival;
  double seconds = 0;
  for (int job = 0; job < jobs; ++job) {
    if (job > 0) seconds += DrawGap(sampler, gap, gaps);
    if (!(seconds < kLongestSeconds)) {
      throw InputError({.key = "trace.gap",
                        .problem = "the gaps drawn add up to more than 285 years",
                        .allowed = "a shorter mean, or fewer jobs"});
    }
    arrival.time = FromSeconds(seconds);
    arrival.workload = DrawWorkload(workloads, sum, mix);
    trace.Add(arrival);
  }
  return trace;
}

}  // namespace cosched
