#include "traces/generators/load_phases.h"

#include "engine/base/check.h"

namespace cosched {

double ExpectedArrivals(const std::vector<LoadPhase>& phases) {
  double arrivals = 0;
  for (const LoadPhase& phase : phases) arrivals += ToSeconds(phase.length) * phase.rate_per_s;
  return arrivals;
}

std::vector<PhaseArrival> DrawPhases(const std::vector<LoadPhase>& phases, const Distribution& gap,
                                     Random random) {
  CHECK(gap.mean > 0) << "checked by whoever reads the experiment";
  const Sampler sampler(gap);
  std::vector<PhaseArrival> arrivals;
  Duration begin{0};
  // Of the next arrival, from the phase's begin: in arrivals that are expected until then.
  double due = sampler.Draw(random) / gap.mean;
  for (const LoadPhase& phase : phases) {
    const double expected = ToSeconds(phase.length) * phase.rate_per_s;
    for (; expected > 0 && due <= expected; due += sampler.Draw(random) / gap.mean)
      arrivals.push_back({begin + FromSeconds(due / phase.rate_per_s), phase.work});
    due -= expected;
    begin += phase.length;
  }
  return arrivals;
}

}  // namespace cosched
