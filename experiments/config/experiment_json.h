#pragma once
// An experiment as it stands in the manifest of its runs: every key of the file with every default
// filled in, so that a record tells what ran, `--resume` knows the run of an experiment and
// `cosched replay` can run it again. Pure.

#include <nlohmann/json.hpp>

#include "experiments/config/experiment_config.h"

namespace cosched {

// In the order in which a person reads it. A key that has no value (threads that follow the cores)
// is null.
nlohmann::ordered_json ExperimentJson(const ExperimentConfig& config);

// The keys of [policy]: what was set, and where external policies come from.
nlohmann::ordered_json ParametersJson(const ExperimentConfig& config);

// Every policy of the run with all its parameters, defaults included.
nlohmann::ordered_json PoliciesJson(const ExperimentConfig& config);

}  // namespace cosched
