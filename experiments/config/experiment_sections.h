#pragma once
// The sections of an experiment file that have no file of their own: what stands above all tables,
// [container], [services], [sampling], [records] and [simulation]. Called by LoadConfig and by
// those who tell what a file may say, or said.

#include "experiments/config/experiment_config.h"
#include "experiments/config/section.h"

namespace cosched {

// The root's reader also reads tables that need nothing but what was read before; [[workload]],
// [trace] and [policy] LoadConfig reads, which knows when.
const Section<ExperimentConfig>& RootSection();
const Section<ContainerConfig>& ContainerSection();
const Section<ExperimentConfig>& SamplingSection();
const Section<RecordsConfig>& RecordsSection();
const Section<ExperimentConfig>& SimulationSection();

}  // namespace cosched
