#pragma once
// [[workload]] of an experiment file: the programs that jobs run, and the services. Called by
// LoadConfig and LoadWorkloads. Pure but for opening the models and data sets that it names, so
// that a missing or unfitting one is told before anything runs.

#include <vector>

#include "experiments/config/experiment_config.h"
#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"

namespace cosched {

const Section<WorkloadConfig>& WorkloadSection();
const Section<CoreRequest>& CoreRequestSection();  // cores = { … } of a workload.

// root: the experiment file. At least one. programs_run: commands must be there; the simulator runs
// none. Throws InputError.
std::vector<WorkloadConfig> ReadWorkloads(const TomlTable& root, int machine_cores,
                                          bool programs_run = true);

}  // namespace cosched
