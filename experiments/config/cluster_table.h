#pragma once
// [simulation.cluster] of an experiment file: the machines that a simulated pipeline has for itself
// (experiments/hosts/simulation/pipeline_cluster.h). Called by LoadConfig; thread-safe.

#include "experiments/config/experiment_config.h"
#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"
#include "experiments/hosts/simulation/cluster_settings.h"

namespace cosched {

const Section<ClusterSettings>& ClusterSection();
const Section<ClusterSettings::Group>& ClusterMachinesSection();  // An entry of its machines.

// Where there is one: that it is simulated, of the only workload, which is a pipeline, and that this
// can run on it. Throws InputError.
void CheckCluster(const TomlTable& root, const ExperimentConfig& config);

}  // namespace cosched
