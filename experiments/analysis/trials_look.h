#pragma once
// Whether a run with `trials = "until METRIC ± P %"` has trials enough: a look at its cells so far.
// Reads files only; called by whoever runs them, after each round.
//
// What has to be within ± P % of its estimate is what the experiment asks: where it names a
// `baseline`, the trials' ratios of every other policy to it, because they are what is compared and
// vary less than the metric, whose arrivals differ from trial to trial; else the metric's median
// under every policy. In each elasticity, and of each service.

#include <filesystem>
#include <optional>
#include <string>

#include "experiments/config/experiment_config.h"

namespace cosched {

struct TrialsLook {
  bool enough = false;
  // The largest share by which an interval reaches beyond its estimate; nothing: one has no data,
  // or not the level of a look yet.
  std::optional<double> within;
  std::string widest;  // Whose that is: "max-prop/malleable / strict".
};

// run: a run's folder, or a sweep's point. Only cells of the first `trials` count.
// REQUIRES: config.until, with a metric that there is.
TrialsLook LookAtTrials(const std::filesystem::path& run, const ExperimentConfig& config,
                        int trials);

// Whether it is about ratios to the baseline.
bool LooksAtRatios(const ExperimentConfig& config);

}  // namespace cosched
