#include "experiments/analysis/treatment_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

constexpr size_t kMetricCount = kComparedMetrics.size();

TreatmentRow RowOf(std::string name, std::string subject, const CellGroup& group,
                   const CellGroup& base) {
  TreatmentRow row{
      .name = std::move(name), .subject = std::move(subject), .group = &group, .base = &base};
  for (size_t m = 0; m < kMetricCount; ++m) {
    row.effects[m] = PairedTrials(group.ByTrial(kComparedMetrics[m].value),
                                  base.ByTrial(kComparedMetrics[m].value));
  }
  return row;
}

// Corrects every p for all of the same metric.
void Correct(TreatmentTable* table) {
  for (size_t m = 0; m < kMetricCount; ++m) {
    std::vector<double> p;
    std::vector<double*> places;
    for (std::vector<TreatmentRow>* rows : {&table->rows, &table->others}) {
      for (TreatmentRow& row : *rows) {
        if (!row.effects[m] || !row.effects[m]->tested) continue;
        p.push_back(row.effects[m]->p);
        places.push_back(&row.corrected[m]);
      }
    }
    const std::vector<double> corrected = HolmAdjusted(p);
    for (size_t i = 0; i < places.size(); ++i) *places[i] = corrected[i];
    table->comparisons[m] = std::max<size_t>(1, p.size());
  }
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

bool HasLost(const CellGroup& group) { return group.cells.empty() || group.LossyCells() > 0; }

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
std::vector<TreatmentRow> PairsWithout(const std::vector<const CellGroup*>& groups,
                                       const CellGroup* base) {
  std::vector<TreatmentRow> pairs;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t j = i + 1; j < groups.size(); ++j) {
      if (groups[i] == base || groups[j] == base) continue;
      pairs.push_back(RowOf(groups[i]->policy, groups[i]->policy, *groups[i], *groups[j]));
    }
  }
  return pairs;
}

TreatmentTable PoliciesOf(const ComparedCells& cells, Elasticity elasticity,
                          const std::string& baseline,
                          const std::vector<const CellGroup*>& groups) {
  TreatmentTable table{.elasticity = elasticity, .base = baseline, .chosen = baseline.empty()};
  const CellGroup* base = table.chosen ? BestOf(groups) : cells.Find(baseline, elasticity);
  if (base == nullptr) {
    table.why_none = table.chosen ? "no policy finished every job of every trial"
                                  : baseline + " has no cell here";
    return table;
  }
  table.base = base->policy;
  for (const CellGroup* group : groups)
    if (group != base) table.rows.push_back(RowOf(group->policy, group->policy, *group, *base));
  if (table.chosen) table.others = PairsWithout(groups, base);
  Correct(&table);
  return table;
}

bool HasJobs(const ComparedCells& cells) {
  return std::any_of(cells.groups.begin(), cells.groups.end(), [](const CellGroup& group) {
    return std::any_of(group.cells.begin(), group.cells.end(), [](const ComparedCell& cell) {
      return cell.summary.mean_turnaround_s > 0 || cell.summary.Lost() > 0;
    });
  });
}

}  // namespace

bool TreatmentRow::LostAny() const { return HasLost(*group) || HasLost(*base); }

std::string TreatmentRow::WhyNot() const {
  const bool own = HasLost(*group);
  return (own ? "" : "the other ") + LossText(own ? *group : *base);
}

std::vector<std::string> TreatmentTable::VerdictsOf(size_t metric) const {
  std::vector<NamedEffect> effects;
  for (const TreatmentRow& row : rows) {
    if (row.effects[metric])
      effects.push_back({row.name, row.subject, *row.effects[metric], row.corrected[metric]});
  }
  return Verdicts(effects, base, comparisons[metric]);
}

std::vector<TreatmentTable> ComparePolicies(const ComparedCells& cells,
                                            const std::string& baseline) {
  const auto& policies = cells.policies;
  if (!baseline.empty() &&
      std::find(policies.begin(), policies.end(), baseline) == policies.end()) {
    throw InputError({"command line", 0, "--baseline", fmt::format("is '{}'", baseline),
                      fmt::format("a policy of these runs: {}", fmt::join(policies, ", "))});
  }
  std::vector<TreatmentTable> tables;
  if (!HasJobs(cells)) return tables;
  for (const Elasticity elasticity : cells.elasticities) {
    const std::vector<const CellGroup*> groups = GroupsOf(cells, elasticity);
    if (groups.size() > 1) tables.push_back(PoliciesOf(cells, elasticity, baseline, groups));
  }
  return tables;
}

std::optional<TreatmentTable> CompareElasticities(const ComparedCells& cells, Elasticity other) {
  TreatmentTable table{.kind = TreatmentTable::Kind::kElasticities,
                       .elasticity = other,
                       .base = std::string(ToString(other))};
  for (const std::string& policy : cells.policies) {
    const CellGroup* malleable = cells.Find(policy, Elasticity::kMalleable);
    const CellGroup* base = cells.Find(policy, other);
    if (malleable == nullptr || base == nullptr) continue;
    table.rows.push_back(RowOf(policy, "malleable under " + policy, *malleable, *base));
  }
  if (table.rows.empty() || !HasJobs(cells)) return std::nullopt;
  Correct(&table);
  return table;
}

}  // namespace cosched
