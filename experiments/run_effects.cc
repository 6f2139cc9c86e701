#include "experiments/run_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "experiments/table_text.h"

namespace cosched {
namespace {

constexpr std::array kValues = {&CellSummary::makespan_s, &CellSummary::mean_turnaround_s};
constexpr size_t kNameWidth = 26;  // "static-partition/malleable".

using Trial = std::pair<int, int>;

// By trace. Empty if traces are not known, or one is there again and again: then nothing says which
// trial is whose.
std::map<size_t, Trial> TrialsByTrace(const ComparedCells& cells) {
  std::map<size_t, Trial> trials;
  for (const auto& [trial, trace] : cells.traces)
    if (trace == 0 || !trials.emplace(trace, trial).second) return {};
  return trials;
}

// Of b -> of a, for trials with the same arrivals.
std::map<Trial, Trial> CommonTrials(const ComparedCells& a, const ComparedCells& b) {
  const std::map<size_t, Trial> of_a = TrialsByTrace(a);
  std::map<Trial, Trial> common;
  for (const auto& [trace, trial] : TrialsByTrace(b)) {
    const auto found = of_a.find(trace);
    if (found != of_a.end()) common[trial] = found->second;
  }
  return common;
}

std::string LossOf(const Group& group, const char* side) {
  return fmt::format("{} lost {} in {} of {}", side, Counted(group.LostJobs(), "job"),
                     group.LossyCells(),
                     Counted(static_cast<int64_t>(group.cells.size()), "trial"));
}

SideEffect EffectOf(const Group& a, const Group& b, const std::map<Trial, Trial>& common) {
  SideEffect row{.name = fmt::format("{}/{}", b.policy, ToString(b.elasticity)),
                 .effects = {},
                 .corrected = {1, 1},
                 .not_compared = ""};
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
  if (row.effects[0]) return row;
  row.not_compared = a.LossyCells() > 0   ? LossOf(a, "A")
                     : b.LossyCells() > 0 ? LossOf(b, "B")
                                          : "no trial in common";
  return row;
}

}  // namespace

SideEffects EffectsBetween(const ComparedCells& a, const ComparedCells& b) {
  const std::map<Trial, Trial> common = CommonTrials(a, b);
  SideEffects result;
  result.paired = !common.empty();
  for (const Elasticity elasticity : b.elasticities) {
    for (const std::string& policy : b.policies) {
      const Group* of_a = a.Find(policy, elasticity);
      const Group* of_b = b.Find(policy, elasticity);
      if (of_a != nullptr && of_b != nullptr) result.rows.push_back(EffectOf(*of_a, *of_b, common));
    }
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
  std::string level;
  for (const SideEffect& row : effects.rows) {
    if (level.empty() && row.effects[0] && row.effects[0]->tested)
      level = LevelText(row.effects[0]->interval, row.effects[0]->pairs);
  }
  if (!effects.paired && level.starts_with("range")) level = level.substr(level.find(": ") + 2);
  std::string text = Wrapped(
      "", fmt::format("{} / {}: {}{}, below 1 = {} is shorter; p: {}, corrected by Holm for {}; "
                      "effect: {}",
                      b, a, effects.paired ? "median of the trials' ratios" : "ratio",
                      level.empty() ? "" : fmt::format(" [{}]", level), b,
                      effects.paired ? "signed ranks, the traces are the same"
                                     : "Mann-Whitney, the trials are independent",
                      Counted(effects.comparisons, "comparison"),
                      effects.paired ? "rank correlation" : "Cliff's delta"));
  text += fmt::format("{:<{}} {} {}\n", "", kNameWidth, EffectTitle("makespan"),
                      EffectTitle("mean turnaround"));
  for (const SideEffect& row : effects.rows) {
    std::string line = fmt::format("{:<{}}", row.name, kNameWidth);
    if (!row.not_compared.empty()) {
      text += line + " ! NOT COMPARED: " + row.not_compared + "\n";
      continue;
    }
    for (size_t m = 0; m < row.effects.size(); ++m)
      line += " " + EffectText(row.effects[m], row.corrected[m]);
    text += Trimmed(line) + "\n";
  }
  return text;
}

}  // namespace cosched
