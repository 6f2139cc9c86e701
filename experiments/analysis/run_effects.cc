#include "experiments/analysis/run_effects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

constexpr std::array kValues = {&CellSummary::makespan_s, &CellSummary::mean_turnaround_s};
constexpr size_t kGroupWidth = 26;  // "static-partition/malleable".

using Trial = std::pair<int, int>;

// By trace. Empty if traces are not known, or one is there again and again: then nothing says which
// trial is whose.
std::map<size_t, Trial> TrialsByTrace(const ComparedCells& cells) {
  std::map<size_t, Trial> trials;
  for (const auto& [trial, trace] : cells.traces)
    if (trace == 0 || !trials.emplace(trace, trial).second) return {};
  return trials;
}

// Trials of b -> of a, for trials with the same arrivals.
std::map<Trial, Trial> CommonTrials(const ComparedCells& a, const ComparedCells& b) {
  const std::map<size_t, Trial> of_a = TrialsByTrace(a);
  std::map<Trial, Trial> common;
  for (const auto& [trace, trial] : TrialsByTrace(b)) {
    const auto found = of_a.find(trace);
    if (found != of_a.end()) common[trial] = found->second;
  }
  return common;
}

std::string NameOf(const CellGroup& group) {
  return fmt::format("{}/{}", group.policy, ToString(group.elasticity));
}

std::string LossOf(const CellGroup& group, const char* side) {
  if (group.LossyCells() == 0) return fmt::format("{} lost none", side);
  return fmt::format("{} lost {} in {} of {}", side, Counted(group.LostJobs(), "job"),
                     group.LossyCells(),
                     Counted(static_cast<int64_t>(group.cells.size()), "trial"));
}

SideEffect EffectOf(const CellGroup& a, const CellGroup& b, const std::map<Trial, Trial>& common) {
  SideEffect row;
  row.name = NameOf(b);
  for (size_t m = 0; m < kValues.size(); ++m) {
    const TrialValues of_a = a.ByTrial(kValues[m]), of_b = b.ByTrial(kValues[m]);
    if (common.empty()) {
      row.effects[m] = IndependentTrials(of_b, of_a);
      continue;
    }
    TrialValues renamed;
    for (const auto& [trial, value] : of_b)
      if (const auto found = common.find(trial); found != common.end())
        renamed[found->second] = value;
    row.effects[m] = PairedTrials(renamed, of_a);
  }
  if (a.LossyCells() > 0 || b.LossyCells() > 0) row.losses = LossOf(a, "A") + ", " + LossOf(b, "B");
  row.unalike = a.LostJobs() != b.LostJobs() || a.failed.size() != b.failed.size();
  if (!row.effects[0])
    row.not_compared = row.losses.empty() ? "no trial in common" : "no trial that lost no job";
  return row;
}

SideEffect MissingOn(const CellGroup& group, const char* side) {
  return {.name = NameOf(group),
          .effects = {},
          .corrected = {1, 1},
          .losses = "",
          .unalike = true,
          .not_compared = fmt::format("{} has no cell of it", side)};
}

}  // namespace

SideEffects EffectsBetween(const ComparedCells& a, const ComparedCells& b) {
  const std::map<Trial, Trial> common = CommonTrials(a, b);
  SideEffects result;
  result.paired = !common.empty();
  for (const CellGroup& of_b : b.groups) {
    const CellGroup* of_a = a.Find(of_b.policy, of_b.elasticity);
    result.rows.push_back(of_a == nullptr ? MissingOn(of_b, "A") : EffectOf(*of_a, of_b, common));
  }
  for (const CellGroup& of_a : a.groups) {
    if (b.Find(of_a.policy, of_a.elasticity) == nullptr)
      result.rows.push_back(MissingOn(of_a, "B"));
  }
  std::vector<double> p;
  std::vector<double*> places;
  for (SideEffect& row : result.rows) {
    for (size_t m = 0; m < row.effects.size(); ++m) {
      if (!row.effects[m] || !row.effects[m]->tested) continue;
      p.push_back(row.effects[m]->p);
      places.push_back(&row.corrected[m]);
    }
  }
  const std::vector<double> corrected = HolmAdjusted(p);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = corrected[i];
  result.comparisons = static_cast<int>(p.size());
  return result;
}

std::string SideEffectsTable(const SideEffects& effects, const std::string& a,
                             const std::string& b) {
  std::set<int> pairs;
  std::set<std::string> independent;  // Levels of ratios whose two samples nothing pairs.
  for (const SideEffect& row : effects.rows) {
    for (const auto& effect : row.effects) {
      if (!effect || !effect->tested) continue;
      pairs.insert(effect->pairs);
      independent.insert(LevelPercent(effect->interval.level));
    }
  }
  const std::string levels = effects.paired ? LevelsText(pairs)
                             : independent.empty()
                                 ? ""
                                 : fmt::format(" [{}]", fmt::join(independent, "; "));
  std::string text = Wrapped(
      "", fmt::format("{} / {}: {}{}, below 1 = {} is shorter; p: {}, corrected by Holm for {}; "
                      "effect: {}",
                      b, a, effects.paired ? "median of the trials' ratios" : "ratio", levels, b,
                      effects.paired ? "signed ranks, the traces are the same"
                                     : "Mann-Whitney, the trials are independent",
                      Counted(effects.comparisons, "comparison"),
                      effects.paired ? "rank correlation" : "Cliff's delta"));
  text += fmt::format("  {:<{}} {} {}\n", "", kGroupWidth, EffectTitle("makespan"),
                      EffectTitle("mean turnaround"));
  for (const SideEffect& row : effects.rows) {
    const bool doubtful = !row.not_compared.empty() || !row.losses.empty() || row.unalike;
    std::string line = fmt::format("{}{:<{}}", doubtful ? "! " : "  ", row.name, kGroupWidth);
    if (!row.not_compared.empty()) line += " NOT COMPARED: " + row.not_compared;
    for (size_t m = 0; m < row.effects.size() && row.not_compared.empty(); ++m)
      line += " " + EffectText(row.effects[m], row.corrected[m]);
    text += Trimmed(line) + "\n";
    if (!row.losses.empty()) text += Wrapped("     ", "LOST JOBS: " + row.losses);
  }
  return text;
}

}  // namespace cosched
