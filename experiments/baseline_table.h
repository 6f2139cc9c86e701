#pragma once
// Treatments set against each other trial by trial: every policy against one of them, and malleable
// tenants against those of another class, each with one sentence a question. Pure; used by the
// comparison.

#include <string>

#include "experiments/comparison_cells.h"

namespace cosched {

// In each elasticity, every policy against `baseline`, or where that is empty against the one with
// the lowest median makespan of those that lost no job; then the correction is for all pairs of
// policies, because the data chose. "" if there are not two policies, or no jobs. Throws InputError
// (key --baseline) if it is none of the policies.
std::string BaselineTables(const ComparedCells& cells, const std::string& baseline);

// "" if no policy has cells of both.
std::string ElasticityTable(const ComparedCells& cells, Elasticity other);

// What ratio, p, effect and wins mean in both.
std::string EffectLegend(const ComparedCells& cells);

}  // namespace cosched
