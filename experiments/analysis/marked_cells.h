#pragma once
// The cells of a run that are worth running anew: what `cosched run --redo-marked` runs.

#include <filesystem>
#include <vector>

#include "experiments/config/sweep.h"

namespace cosched {

// In the sweep's order: cells that failed, in which a job failed, whose records are damaged or
// missing, and those with a mark of the machine (other programs used the cores, the generator fell
// behind). Marks that would come again are left alone: those of the trace, and a simulated cell's.
std::vector<SweepCell> MarkedCells(const std::filesystem::path& run, const Sweep& sweep);

}  // namespace cosched
