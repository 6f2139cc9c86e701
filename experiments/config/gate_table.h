#pragma once
// [[gate]] of an experiment file: what its results have to be. Called by LoadConfig, by those who
// tell what a file may say, and by those who judge what a run's manifest says. Which metrics there
// are only those know who compute them: CheckMetricNames (experiments/analysis/trial_metric.h).

#include <vector>

#include "experiments/config/experiment_config.h"
#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"

namespace cosched {

const Section<GateConfig>& GateSection();

// root: the experiment file; its policies and workloads have been read. Throws InputError.
std::vector<GateConfig> ReadGateTables(const TomlTable& root, const ExperimentConfig& config);

}  // namespace cosched
