#include "experiments/analysis/trial_metric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/base/did_you_mean.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/numeric_columns.h"
#include "experiments/analysis/request_metrics.h"

namespace cosched {
namespace {

constexpr std::array<std::string_view, 6> kJobCounts = {"jobs",     "finished",  "failed",
                                                        "rejected", "cancelled", "lost"};

template <typename Row>
std::vector<std::string> NumericColumnNames() {
  std::vector<std::string> names;
  ForEachNumericColumn<Row>(
      [&names](std::string_view name, const auto& /*number*/) { names.emplace_back(name); });
  return names;
}

template <typename Row>
std::optional<double> ColumnValue(const Row& row, const std::string& column) {
  std::optional<double> value;
  ForEachNumericColumn<Row>([&](std::string_view name, const auto& number) {
    if (name == column) value = number(row);
  });
  return value;
}

bool HasColumn(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<double> MetricValue(const CellSummary& summary, const TrialMetric& metric,
                                  const std::string& service) {
  if (!metric.of_services) return ColumnValue(summary, metric.column);
  for (const ServiceSummary& one : summary.services)
    if (one.service == service) return ColumnValue(one, metric.column);
  return std::nullopt;
}

[[noreturn]] void RefuseMetric(const ExperimentConfig& config, const std::string& key,
                               const std::string& metric) {
  const std::string of_cells =
                        fmt::format("{}", fmt::join(NumericColumnNames<CellSummary>(), ", ")),
                    of_services =
                        fmt::format("{}", fmt::join(NumericColumnNames<ServiceSummary>(), ", "));
  config.written->Fail(key,
                       fmt::format("there is no metric \"{}\"", metric) +
                           DidYouMean(metric, of_cells + ", " + of_services),
                       fmt::format("{}; of services: {}", of_cells, of_services));
}

}  // namespace

std::optional<TrialMetric> FindTrialMetric(std::string_view name) {
  const std::vector<std::string> of_cells = NumericColumnNames<CellSummary>(),
                                 of_services = NumericColumnNames<ServiceSummary>();
  for (const std::string& column : {std::string(name), std::string(name) + "_s"}) {
    if (HasColumn(of_cells, column)) {
      return TrialMetric{.column = column,
                         .counts_jobs = std::find(kJobCounts.begin(), kJobCounts.end(), column) !=
                                        kJobCounts.end()};
    }
    if (HasColumn(of_services, column)) return TrialMetric{.column = column, .of_services = true};
  }
  return std::nullopt;
}

TrialValues ValuesByTrial(const CellGroup& group, const TrialMetric& metric,
                          const std::string& service) {
  TrialValues values;
  for (const ComparedCell& cell : group.cells) {
    if (!metric.counts_jobs && cell.summary.Lost() > 0) continue;
    if (const std::optional<double> value = MetricValue(cell.summary, metric, service))
      values[cell.trial] = *value;
  }
  return values;
}

std::vector<std::string> ServicesWith(const CellGroup& group, const TrialMetric& metric) {
  if (!metric.of_services) return {""};
  std::set<std::string> names;
  for (const ComparedCell& cell : group.cells)
    for (const ServiceSummary& service : cell.summary.services) names.insert(service.service);
  return {names.begin(), names.end()};
}

void CheckMetricNames(const ExperimentConfig& config) {
  for (size_t i = 0; i < config.gates.size(); ++i) {
    const GateConfig& gate = config.gates[i];
    const std::string at = fmt::format("gate.{}", i);
    const std::optional<TrialMetric> metric = FindTrialMetric(gate.metric);
    if (!metric) RefuseMetric(config, at + ".metric", gate.metric);
    if (!gate.service.empty() && !metric->of_services) {
      config.written->Fail(at + ".service",
                           fmt::format("is given, and {} is no metric of services", metric->column),
                           "a column of services.csv as metric");
    }
    if (metric->of_services && !config.HasServices())
      config.written->Fail(at + ".metric",
                           fmt::format("{} is of services, and there is none", metric->column),
                           "a column of summary.csv");
  }
  if (config.until && !FindTrialMetric(config.until->metric))
    RefuseMetric(config, "trials", config.until->metric);
}

}  // namespace cosched
