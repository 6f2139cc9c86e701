#pragma once
// CPU time that the jobs of a cell were granted, used or not, from its grants.csv. Reads files
// only; called by metrics.cc.

#include <filesystem>
#include <optional>

namespace cosched {

// Core-seconds: over all jobs, the integral of what each held (GrantRow::owned_amount); nullopt
// where grants were not recorded. Throws InputError naming file and line of what is malformed.
std::optional<double> GrantedCoreSeconds(const std::filesystem::path& cell);

}  // namespace cosched
