#pragma once
// Compares policies over the cells of one or more runs: medians with 95 % bootstrap intervals, how
// often each policy wins, and what is worth a warning (fewer than three trials, failed jobs). Used
// by `cosched compare` and at the end of `cosched run`. Pure but for reading files.

#include <filesystem>
#include <string>
#include <vector>

namespace cosched {

// The table as text, ready for stdout. A path is a run, or a folder of runs. Cells of the same
// policy, elasticity and trial in several runs count as further trials. Throws InputError if a path
// holds no whole cell.
std::string ComparisonTable(const std::vector<std::filesystem::path>& runs);

// What the kernel says of how the tenants shared the cores, in the same order: oversubscription of
// the worst tenant, run-queue wait, involuntary switches, migrations, throttled time and pressure.
std::string DetailTable(const std::vector<std::filesystem::path>& runs);

// The runs that these paths mean: the run itself, or those right below.
std::vector<std::filesystem::path> FindRuns(const std::vector<std::filesystem::path>& paths);

}  // namespace cosched
