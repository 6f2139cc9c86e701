#pragma once
// [machine] of an experiment file: where tenants run, or are said to run. Called by LoadConfig, and
// by sweeps to see what a machine is too small for. Opens the topology and the profile that it
// names.

#include "engine/base/topology.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"

namespace cosched {

// Read into a configuration that knows its backend, and whose topology is that of this machine.
const Section<ExperimentConfig>& MachineSection();

// The machine that an experiment file asks for; `here` unless it is a simulated one. Throws
// InputError.
Topology MachineOf(const TomlTable& root, const Topology& here);

}  // namespace cosched
