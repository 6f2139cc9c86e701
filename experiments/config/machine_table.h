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

// How many cores an experiment file could have: those of this machine, which is `here`, or of the
// one that it simulates. Throws InputError.
int CoresOffered(const TomlTable& root, const Topology& here);

// The machine as if it had the experiment's cores only.
Topology TenantsMachine(const ExperimentConfig& config);

// "8 cores (16 threads, one a core)", or "16 threads of 8 cores, each taken for a core"; "" where no
// core of the experiment has several hardware threads.
std::string HardwareThreadsText(const ExperimentConfig& config);

// "cores of 2 kinds: 0-7, slower 8-15"; "" where these cores are of one kind, as far as known.
std::string CoreKindsText(const Topology& cores);

}  // namespace cosched
