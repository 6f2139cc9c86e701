#include "experiments/analysis/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "engine/base/error.h"
#include "experiments/analysis/decision_diff.h"
#include "experiments/analysis/estimate.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/statistics.h"
#include "experiments/records/cell_file.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {
namespace {

// From the first arrival of a job to the last.
double ReadArrivingSeconds(const std::filesystem::path& cell) {
  RowReader<JobRow> reader(cell, &JobRow::submission_time);
  std::optional<double> first;
  double last = 0;
  while (const JobRow* job = reader.Next()) {
    const double arrival = job->submission_time;
    last = first ? std::max(last, arrival) : arrival;
    first = std::min(first.value_or(arrival), arrival);
  }
  return last - first.value_or(0);
}

// The cells of both runs; by key.
std::vector<CellKey> CommonCells(const ValidationRuns& runs) {
  const std::vector<CellKey> measured = WholeCells(runs.measured),
                             simulated = WholeCells(runs.simulated);
  std::vector<CellKey> common;
  std::set_intersection(measured.begin(), measured.end(), simulated.begin(), simulated.end(),
                        std::back_inserter(common));
  if (common.empty()) {
    throw InputError({.file = runs.simulated.string(),
                      .problem = fmt::format("has no cell that {} has", runs.measured.string()),
                      .allowed = "two runs of one experiment"});
  }
  return common;
}

std::vector<CellPair> ReadPairs(const std::vector<ValidationRuns>& runs) {
  std::vector<CellPair> pairs;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const CellKey& key : CommonCells(runs[run])) {
      CellPair pair{static_cast<int>(run), key, ReadOutcome(runs[run].measured, key),
                    ReadOutcome(runs[run].simulated, key), false};
      pair.decided_alike = !FindFirstDifference(CellFolder(runs[run].measured, key),
                                                CellFolder(runs[run].simulated, key));
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

using PolicyGroup = std::pair<std::string, Elasticity>;

std::map<PolicyGroup, std::vector<const CellPair*>> Comparable(const std::vector<CellPair>& pairs) {
  std::map<PolicyGroup, std::vector<const CellPair*>> groups;
  for (const CellPair& pair : pairs) {
    if (pair.Comparable()) groups[{pair.key.policy, pair.key.elasticity}].push_back(&pair);
  }
  return groups;
}

// Each trace gives one number: the mean of its cells' absolute errors.
Estimate AbsoluteError(const std::vector<const CellPair*>& pairs, const ValidatedMetric& metric) {
  std::map<std::pair<int, int>, std::vector<double>> by_trace;  // By run and trial.
  for (const CellPair* pair : pairs)
    by_trace[{pair->run, pair->key.trial}].push_back(std::abs(pair->Error(metric)));
  std::vector<double> means;
  for (const auto& [trace, errors] : by_trace) means.push_back(Mean(errors));
  return MedianEstimate(means);
}

// pairs: of one policy, so that each is of a trace of its own.
Estimate SignedError(const std::vector<const CellPair*>& pairs, const ValidatedMetric& metric) {
  std::vector<double> errors;
  for (const CellPair* pair : pairs) errors.push_back(pair->Error(metric));
  return MedianEstimate(errors);
}

// The costs of all groups in the trials that have all of them.
struct Costs {
  CostTable measured, simulated;
};

Costs CostsOf(const std::map<PolicyGroup, std::vector<const CellPair*>>& groups,
              double CellFigures::*metric) {
  std::map<std::pair<int, int>, std::pair<std::vector<double>, std::vector<double>>> trials;
  for (const auto& [group, pairs] : groups) {
    for (const CellPair* pair : pairs) {
      auto& [measured, simulated] = trials[{pair->run, pair->key.trial}];
      measured.push_back(pair->measured.outcome.*metric);
      simulated.push_back(pair->simulated.outcome.*metric);
    }
  }
  Costs costs;
  for (auto& [trial, values] : trials) {
    if (values.first.size() != groups.size()) continue;
    costs.measured.push_back(std::move(values.first));
    costs.simulated.push_back(std::move(values.second));
  }
  return costs;
}

std::optional<RankingAgreement> Rank(const Costs& costs) {
  if (costs.measured.empty() || costs.measured.front().size() < 2) return std::nullopt;
  return CompareRankings(costs.measured, costs.simulated);
}

}  // namespace

double CellPair::Error(const ValidatedMetric& metric) const {
  const double real = measured.outcome.*metric.value;
  return real > 0 ? simulated.outcome.*metric.value / real - 1 : 0;
}

CellOutcome ReadOutcome(const std::filesystem::path& run, const CellKey& key) {
  const CellSummary summary = Summarize(run, key);
  const std::filesystem::path cell = CellFolder(run, key);
  CellOutcome result;
  result.marks = summary.marks;
  result.outcome = {.makespan_s = summary.makespan_s,
                    .turnaround_s = summary.mean_turnaround_s,
                    .p95_turnaround_s = summary.p95_turnaround_s,
                    .jobs_per_hour = summary.throughput_jobs_per_hour,
                    .core_seconds = summary.granted_core_s.value_or(0)};
  result.has_jobs = summary.mean_turnaround_s > 0;
  if (summary.status != "done") {
    result.problem = summary.reason;
  } else if (summary.Lost() > 0) {
    result.problem = fmt::format("{} of {} jobs did not finish", summary.Lost(), summary.jobs);
  }
  const double arriving_s = ReadArrivingSeconds(cell);
  result.saturated = result.has_jobs && result.outcome.core_seconds >
                                            arriving_s * ReadCellFile(cell).machine_cores.Count();
  return result;
}

void SumUp(Validation* validation) {
  std::vector<CellPair> pairs = std::move(validation->pairs);
  *validation = {};
  const auto groups = Comparable(pairs);
  std::vector<const CellPair*> all;
  for (const auto& [group, of_group] : groups) {
    PolicyErrors errors{group.first, group.second, static_cast<int>(of_group.size()), 0, {}};
    for (size_t i = 0; i < kMetrics.size(); ++i)
      errors.error[i] = SignedError(of_group, kMetrics[i]);
    for (const CellPair* pair : of_group) errors.alike += pair->decided_alike;
    validation->policies.push_back(std::move(errors));
    all.insert(all.end(), of_group.begin(), of_group.end());
  }
  for (size_t i = 0; i < kMetrics.size(); ++i)
    validation->absolute_error[i] = AbsoluteError(all, kMetrics[i]);
  if (std::ranges::any_of(pairs, &CellPair::HasJobs)) {
    validation->by_makespan = Rank(CostsOf(groups, &CellFigures::makespan_s));
    validation->by_turnaround = Rank(CostsOf(groups, &CellFigures::turnaround_s));
  }
  validation->pairs = std::move(pairs);
}

Validation Validate(const std::vector<ValidationRuns>& runs) {
  Validation validation;
  validation.pairs = ReadPairs(runs);
  SumUp(&validation);
  validation.services = ValidateServices(runs);
  return validation;
}

void AddAgain(const std::vector<ValidationRuns>& again, Validation* validation) {
  const Validation repeated = Validate(again);
  validation->again = repeated.policies;
  validation->again_absolute_error = repeated.absolute_error;
}

}  // namespace cosched
