#pragma once
// Two sides of a comparison, each one or more pooled runs, set against each other: every policy and
// elasticity, by trial where both replayed the same traces, else as independent
// samples. Pure; used by comparison.cc.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/paired_effects.h"

namespace cosched {

struct SideEffect {
  std::string name;  // "strict/rigid".
  // The effects on makespan and mean turnaround.
  std::array<std::optional<TreatmentEffect>, 2> effects;
  std::array<double, 2> corrected = {1, 1};
  std::string losses;        // "A lost 3 jobs in 2 of 8 trials, B lost none"; "" if both lost none.
  bool unalike = false;      // In jobs lost or cells failed, or one side has no cell of it.
  std::string not_compared;  // Why, where there is no effect.
};
struct SideEffects {
  bool paired = false;
  std::vector<SideEffect> rows;
  int comparisons = 0;  // Tested ones, which the correction is for.
};
// b against a: ratios are b / a.
SideEffects EffectsBetween(const ComparedCells& a, const ComparedCells& b);

// names: of the sides, "A" and "B".
std::string SideEffectsTable(const SideEffects& effects, const std::string& a,
                             const std::string& b);

}  // namespace cosched
