#pragma once
// A sweep in one table: a row for every point, policy and elasticity. Used by `cosched run` and
// `cosched compare`. Pure but for reading files.

#include <filesystem>
#include <vector>

#include "experiments/analysis/comparison.h"

namespace cosched {

// points: their folders. Points without a whole cell have no row.
ComparisonReport SweepTable(const std::vector<std::filesystem::path>& points);

}  // namespace cosched
