#pragma once
// The keys of a [[workload]] with command = […], a program of somebody else's. Used by
// workload_table.cc.

#include <optional>
#include <vector>

#include "experiments/config/experiment_config.h"
#include "experiments/config/section.h"
#include "experiments/config/toml_table.h"

namespace cosched {

// To be read before all others: which of them are refused depends on the command.
std::vector<SectionKey<WorkloadConfig>> CommandKeys();
// Why a key has no meaning for such a program; nullopt of all others.
std::optional<SectionKey<WorkloadConfig>::Refusal> OfOwnProgramsOnly(
    const WorkloadConfig& workload);
// After all of them: what they say together. Throws InputError.
void CheckCommand(const TomlTable& table, WorkloadConfig* workload);
// Where jobs run it. Throws InputError.
void CheckProgramIsThere(const TomlTable& table, const WorkloadConfig& workload);

}  // namespace cosched
