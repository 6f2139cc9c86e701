#pragma once
// The text of treatments set against each other (treatment_table.h), each question with its sentences.
// Pure; used by the comparison.

#include <set>
#include <string>

#include "experiments/analysis/treatment_table.h"

namespace cosched {

// Every policy against `baseline` in each elasticity, as ComparePolicies has them; "" if there are
// none. Throws as that does.
// Adds to `pairs` over how many trials the ratios' intervals are, and 1 for a ratio that has none.
std::string BaselineTables(const ComparedCells& cells, const std::string& baseline,
                           std::set<int>* pairs);

// "" if no policy has cells of both.
std::string ElasticityTable(const ComparedCells& cells, Elasticity other, std::set<int>* pairs);

// What ratio, p, effect and wins mean in both, whose `pairs` these are; "" if they have no ratio.
std::string EffectLegend(const std::set<int>& pairs);

}  // namespace cosched
