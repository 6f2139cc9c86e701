#pragma once
// The keys of a [[workload]] with mode = "pipeline". Used by workload_table.cc.

#include <vector>

#include "experiments/config/experiment_config.h"
#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"

namespace cosched {

std::vector<SectionKey<WorkloadConfig>> PipelineKeys();

// Whether the application has a network, which the keys model and batch are then of.
bool TakesModel(const TomlTable& table);
// Key pipeline, before all others: which of them are refused depends on it. Throws InputError.
void ReadApplication(const TomlTable& table, TenantSpec* spec);
// After them, what they say together: that the files are there, and that the application and Check()
// accept it, so that this is told before anything runs. Throws InputError.
void ReadPipelineFiles(const TomlTable& table, TenantSpec* spec);

}  // namespace cosched
