#pragma once
// What the dispatcher of a cell needs to know of its experiment. Called by the harness. Pure.

#include "experiments/config/experiment_config.h"
#include "experiments/harness/dispatcher.h"
#include "experiments/records/cell_records.h"

namespace cosched {

DispatcherSetup DispatcherSetupOf(const ExperimentConfig& config, const CellKey& key);

}  // namespace cosched
