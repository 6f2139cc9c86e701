#pragma once
// The medians of every policy, a row each: how long jobs took, how the cores were used, what was
// lost; and what the kernel counted. Pure; used by comparison.cc.

#include <string>

#include "experiments/analysis/comparison_cells.h"

namespace cosched {

// One elasticity's block. A policy that lost jobs has a leading "!" and a line that says how many.
std::string PolicyRows(const ComparedCells& cells, Elasticity elasticity);

// The intervals of what PolicyRows gives medians of only, execution times, and what the kernel says
// of how the tenants shared the cores: oversubscription of the worst tenant, run-queue wait,
// involuntary switches, migrations, throttled time and pressure.
std::string DetailTable(const ComparedCells& cells);

}  // namespace cosched
