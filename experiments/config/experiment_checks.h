#pragma once
// What the keys of an experiment file need of each other, and of this machine. Called by LoadConfig.

#include "experiments/config/experiment_config.h"

namespace cosched {

// Workloads and everything before them have been read; `here` is this machine. Throws InputError
// about the first key that does not go with the others.
void CheckExperiment(const TomlTable& root, const ExperimentConfig& config, const Topology& here);

}  // namespace cosched
