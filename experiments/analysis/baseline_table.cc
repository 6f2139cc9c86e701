#include "experiments/analysis/baseline_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "experiments/analysis/paired_effects.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

struct ComparedMetric {
  const char* name;
  double CellSummary::*value;
};
constexpr std::array kMetrics = {
    ComparedMetric{"makespan", &CellSummary::makespan_s},
    ComparedMetric{"mean turnaround", &CellSummary::mean_turnaround_s}};

// One line of a table: a treatment against its base, by each metric.
struct EffectRow {
  std::string name;
  std::string subject;
  const CellGroup* group = nullptr;
  const CellGroup* base = nullptr;
  std::array<std::optional<TreatmentEffect>, kMetrics.size()> effects = {};
  std::array<double, kMetrics.size()> corrected = {1, 1};
};

EffectRow RowOf(std::string name, std::string subject, const CellGroup& group,
                const CellGroup& base) {
  EffectRow row{
      .name = std::move(name), .subject = std::move(subject), .group = &group, .base = &base};
  for (size_t m = 0; m < kMetrics.size(); ++m) {
    row.effects[m] =
        PairedTrials(group.ByTrial(kMetrics[m].value), base.ByTrial(kMetrics[m].value));
  }
  return row;
}

// Corrects the rows' p for the rows and for `others` of the same metric. Returns how many
// comparisons that is, by metric.
std::array<size_t, kMetrics.size()> Correct(const std::vector<EffectRow>& others,
                                            std::vector<EffectRow>* rows) {
  std::array<size_t, kMetrics.size()> comparisons = {};
  for (size_t m = 0; m < kMetrics.size(); ++m) {
    std::vector<double> p;
    std::vector<double*> places;
    for (EffectRow& row : *rows) {
      if (!row.effects[m] || !row.effects[m]->tested) continue;
      p.push_back(row.effects[m]->p);
      places.push_back(&row.corrected[m]);
    }
    for (const EffectRow& row : others)
      if (row.effects[m] && row.effects[m]->tested) p.push_back(row.effects[m]->p);
    const std::vector<double> corrected = HolmAdjusted(p);
    for (size_t i = 0; i < places.size(); ++i) *places[i] = corrected[i];
    comparisons[m] = std::max<size_t>(1, p.size());
  }
  return comparisons;
}

std::string LossText(const CellGroup& group) {
  if (group.cells.empty()) return "every cell failed";
  if (group.LossyCells() == 0) return "no trial in common";
  int jobs = 0;
  for (const ComparedCell& cell : group.cells) jobs += cell.summary.jobs;
  return fmt::format("lost {} of {} in {} of {}", group.LostJobs(), Counted(jobs, "job"),
                     group.LossyCells(),
                     Counted(static_cast<int64_t>(group.cells.size()), "trial"));
}

bool LostAny(const CellGroup& group) { return group.cells.empty() || group.LossyCells() > 0; }

// Why there is no ratio: the treatment's own losses, or its base's.
std::string NotComparedText(const EffectRow& row) {
  const bool own = LostAny(*row.group);
  return fmt::format("NOT COMPARED: {}{}", own ? "" : "the other ",
                     LossText(own ? *row.group : *row.base));
}

// REQUIRES: comparisons are those that Correct returned.
std::string RowsText(const std::vector<EffectRow>& rows, const std::string& base, size_t width,
                     const std::array<size_t, kMetrics.size()>& comparisons) {
  std::string text = std::string(width + 2, ' ');
  for (const ComparedMetric& metric : kMetrics) text += " " + EffectTitle(metric.name);
  text += '\n';
  for (const EffectRow& row : rows) {
    const bool none = !row.effects[0];
    const bool lossy = LostAny(*row.group) || LostAny(*row.base);
    std::string line = fmt::format("{}{:<{}}", lossy || none ? "! " : "  ", row.name, width);
    for (size_t m = 0; m < kMetrics.size() && !none; ++m)
      line += " " + EffectText(row.effects[m], row.corrected[m]);
    if (none) line += " " + NotComparedText(row);
    text += Trimmed(line) + "\n";
  }
  for (size_t m = 0; m < kMetrics.size(); ++m) {
    std::vector<NamedEffect> effects;
    for (const EffectRow& row : rows)
      if (row.effects[m])
        effects.push_back({row.name, row.subject, *row.effects[m], row.corrected[m]});
    for (const std::string& verdict : Verdicts(effects, base, comparisons[m]))
      text += Wrapped("   ", fmt::format("{}: {}", kMetrics[m].name, verdict));
  }
  return text;
}

// The policies that have cells of this elasticity.
std::vector<const CellGroup*> GroupsOf(const ComparedCells& cells, Elasticity elasticity) {
  std::vector<const CellGroup*> groups;
  for (const std::string& policy : cells.policies)
    if (const CellGroup* group = cells.Find(policy, elasticity)) groups.push_back(group);
  return groups;
}

// nullptr if each policy lost a job or has a failed cell.
const CellGroup* BestOf(const std::vector<const CellGroup*>& groups) {
  const CellGroup* best = nullptr;
  double least = 0;
  for (const CellGroup* group : groups) {
    if (group->cells.empty() || !group->failed.empty() || group->LossyCells() > 0) continue;
    const double median = Median(group->Values(&CellSummary::makespan_s));
    if (best != nullptr && median >= least) continue;
    best = group;
    least = median;
  }
  return best;
}

// All pairs of groups but those with the base.
std::vector<EffectRow> PairsWithout(const std::vector<const CellGroup*>& groups,
                                    const CellGroup* base) {
  std::vector<EffectRow> pairs;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t j = i + 1; j < groups.size(); ++j) {
      if (groups[i] == base || groups[j] == base) continue;
      pairs.push_back(RowOf("", "", *groups[i], *groups[j]));
    }
  }
  return pairs;
}

void AddPairs(const std::vector<EffectRow>& rows, std::set<int>* pairs) {
  for (const EffectRow& row : rows)
    for (const auto& effect : row.effects)
      if (effect) pairs->insert(effect->tested ? effect->pairs : 1);
}

std::string BaselineTable(const ComparedCells& cells, Elasticity elasticity,
                          const std::string& baseline, std::set<int>* pairs) {
  const std::vector<const CellGroup*> groups = GroupsOf(cells, elasticity);
  if (groups.size() < 2) return "";
  const CellGroup* base = baseline.empty() ? BestOf(groups) : cells.Find(baseline, elasticity);
  if (base == nullptr && !baseline.empty()) {
    return fmt::format("\n{}: {} has no cell here: none is compared\n", ToString(elasticity),
                       baseline);
  }
  if (base == nullptr) {
    return fmt::format("\n{}: no policy finished every job of every trial: none is compared\n",
                       ToString(elasticity));
  }
  std::vector<EffectRow> rows;
  for (const CellGroup* group : groups)
    if (group != base) rows.push_back(RowOf(group->policy, group->policy, *group, *base));
  const auto comparisons =
      Correct(baseline.empty() ? PairsWithout(groups, base) : std::vector<EffectRow>(), &rows);
  AddPairs(rows, pairs);
  std::string title = fmt::format("{}: each policy against {}", ToString(elasticity), base->policy);
  if (baseline.empty()) title += ", the lowest median makespan";
  if (comparisons[0] > 1) {
    title += fmt::format(
        "; p corrected for {}{}", baseline.empty() ? "all " : "",
        Counted(static_cast<int64_t>(comparisons[0]), baseline.empty() ? "pair" : "comparison"));
  }
  return "\n" + Wrapped("", title) + RowsText(rows, base->policy, cells.NameWidth(), comparisons);
}

bool HasJobs(const ComparedCells& cells) {
  return std::any_of(cells.groups.begin(), cells.groups.end(), [](const CellGroup& group) {
    return std::any_of(group.cells.begin(), group.cells.end(), [](const ComparedCell& cell) {
      return cell.summary.mean_turnaround_s > 0 || cell.summary.Lost() > 0;
    });
  });
}

}  // namespace

std::string BaselineTables(const ComparedCells& cells, const std::string& baseline,
                           std::set<int>* pairs) {
  const auto& policies = cells.policies;
  if (!baseline.empty() &&
      std::find(policies.begin(), policies.end(), baseline) == policies.end()) {
    throw InputError({"command line", 0, "--baseline", fmt::format("is '{}'", baseline),
                      fmt::format("a policy of these runs: {}", fmt::join(policies, ", "))});
  }
  if (!HasJobs(cells)) return "";
  std::string text;
  for (const Elasticity elasticity : cells.elasticities)
    text += BaselineTable(cells, elasticity, baseline, pairs);
  return text;
}

std::string ElasticityTable(const ComparedCells& cells, Elasticity other, std::set<int>* pairs) {
  std::vector<EffectRow> rows;
  for (const std::string& policy : cells.policies) {
    const CellGroup* malleable = cells.Find(policy, Elasticity::kMalleable);
    const CellGroup* base = cells.Find(policy, other);
    if (malleable == nullptr || base == nullptr) continue;
    rows.push_back(RowOf(policy, "malleable under " + policy, *malleable, *base));
  }
  if (rows.empty() || !HasJobs(cells)) return "";
  const auto comparisons = Correct({}, &rows);
  AddPairs(rows, pairs);
  std::string title = fmt::format("\nmalleable against {}, policy by policy", ToString(other));
  if (comparisons[0] > 1) {
    title += fmt::format("; p corrected for {}",
                         Counted(static_cast<int64_t>(comparisons[0]), "comparison"));
  }
  return title + "\n" +
         RowsText(rows, std::string(ToString(other)), cells.NameWidth(), comparisons);
}

std::string EffectLegend(const std::set<int>& pairs) {
  if (pairs.empty()) return "";
  return "\n" +
         Wrapped("",
                 fmt::format(
                     "Ratios are trial by trial, of the same arrivals: median{}, below 1 = "
                     "shorter. p: signed ranks of their logarithms, corrected by Holm. effect: "
                     "their rank correlation, -1 = always shorter. wins: trials in which it was "
                     "shorter.",
                     LevelsText(pairs)));
}

}  // namespace cosched
