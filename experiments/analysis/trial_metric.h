#pragma once
// Any column of summary.csv or services.csv that holds numbers, by its name, with its value in each
// trial: what gates and sequential trials are about. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/paired_effects.h"
#include "experiments/config/experiment_config.h"

namespace cosched {

struct TrialMetric {
  std::string column;
  bool of_services = false;  // Of services.csv: every service has one.
  // Of what became of jobs: known of each cell that is whole. All else says nothing of a cell that
  // lost some, which makes times look short.
  bool counts_jobs = false;
};

// name: the column's, whose "_s" at the end may be left out. nullopt if there is none.
std::optional<TrialMetric> FindTrialMetric(std::string_view name);

// By trial, of the cells that lost no job; of all, if the metric counts jobs. service: whose, where
// the metric is of services. Cells without a value are left out.
TrialValues ValuesByTrial(const CellGroup& group, const TrialMetric& metric,
                          const std::string& service);

// The services of a group's cells, by name; one "" where the metric is of none.
std::vector<std::string> ServicesWith(const CellGroup& group, const TrialMetric& metric);

// Throws InputError about the key where a gate, or `trials = "until METRIC …"`, names a metric that
// there is not.
void CheckMetricNames(const ExperimentConfig& config);

}  // namespace cosched
