#pragma once
// Treatments set against each other trial by trial: every policy against one of them, and malleable
// tenants against those of another class, each with one sentence a question. Pure; used by the
// comparison.

#include <set>
#include <string>

#include "experiments/analysis/comparison_cells.h"

namespace cosched {

// In each elasticity, every policy against `baseline`, or where that is empty against the one with
// the lowest median makespan of those that lost no job; then the correction is for all pairs of
// policies, because the data chose. "" if there are not two policies, or no jobs. Throws InputError
// (key --baseline) if it is none of the policies.
// Adds to `pairs` over how many trials the ratios' intervals are, and 1 for a ratio that has none.
std::string BaselineTables(const ComparedCells& cells, const std::string& baseline,
                           std::set<int>* pairs);

// "" if no policy has cells of both.
std::string ElasticityTable(const ComparedCells& cells, Elasticity other, std::set<int>* pairs);

// What ratio, p, effect and wins mean in both, whose `pairs` these are; "" if they have no ratio.
std::string EffectLegend(const std::set<int>& pairs);

}  // namespace cosched
