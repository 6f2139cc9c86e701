#pragma once
// Compares policies over the cells of one or more runs: medians with 95 % bootstrap intervals, how often each policy wins,
// and what is worth a warning (fewer than three trials, failed jobs). Used by `cosched compare` and at the end of
// `cosched run`. Pure but for reading files.

#include <filesystem>
#include <string>
#include <vector>

namespace cosched {

// The table as text, ready for stdout. Throws InputError if a path holds no whole cell.
std::string ComparisonTable(const std::vector<std::filesystem::path>& runs);

}  // namespace cosched
