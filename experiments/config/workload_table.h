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

// What workloads are to run on.
struct WorkloadMachine {
  int cores = CpuSet::kMaxCpu + 1;
  bool is_here = false;       // It is this one, so a larger one may have what it lacks.
  bool runs_programs = true;  // Commands must be there; the simulator runs none.
};

// root: the experiment file. At least one. Throws InputError, NotHereError for cores that this
// machine lacks.
std::vector<WorkloadConfig> ReadWorkloads(const TomlTable& root, const WorkloadMachine& machine);

}  // namespace cosched
