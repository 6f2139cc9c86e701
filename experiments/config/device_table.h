#pragma once
// [[device]] of an experiment file: modelled accelerators that answer requests beside the cores.
// Called by LoadConfig and by those who tell what a file may say, or said.

#include <vector>

#include "experiments/config/experiment_config.h"
#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"

namespace cosched {

const Section<DeviceConfig>& DeviceSection();

// root: the experiment file; its workloads have been read. Throws InputError.
std::vector<DeviceConfig> ReadDevices(const TomlTable& root, const ExperimentConfig& config);

}  // namespace cosched
