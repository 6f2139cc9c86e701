#pragma once
// The part of a comparison that is about services: a row a service, policy and elasticity. Pure;
// used by comparison.cc.

#include <string>

#include "experiments/analysis/comparison_cells.h"

namespace cosched {

std::string ServiceTable(const ComparedCells& cells);  // "" where there are none.

}  // namespace cosched
