#pragma once
// How far the simulator can be trusted with services: their mean responses, the windows above their
// objectives and what they were granted, in the cells of a run on hardware beside those of the same
// requests simulated. Reads files only; called by `cosched validate` besides
// experiments/analysis/validation.h.

#include <optional>
#include <string>
#include <vector>

#include "experiments/analysis/ranking.h"
#include "experiments/analysis/validation_runs.h"
#include "experiments/records/cell_records.h"

namespace cosched {

// A service in one cell of one world.
struct ServiceFigures {
  double mean_ms = 0, p50_ms = 0, p95_ms = 0;  // Of its responses, from when a request was due.
  double inside_ms = 0;                        // Median of each, from when it was begun.
  double per_second = 0;                       // Requests that were answered.
  std::optional<double> violated;  // Share of its windows; absent where it has no objective.
};
struct ServicePair {
  int run = 0;  // Index of the experiment, of those validated together.
  CellKey key;
  std::string service;
  ServiceFigures measured, simulated;
};

// A cell with services as a whole: CPU time granted to all, in core-seconds.
struct GrantedPair {
  int run = 0;
  CellKey key;
  double measured = 0, simulated = 0;
  double measured_violated = 0, simulated_violated = 0;  // Mean of its services, of shares.
};

struct ServiceAgreement {
  std::vector<ServicePair> services;  // Those of which both worlds answered requests.
  std::vector<GrantedPair> granted;
  // Of one trace, the mean over its cells of: the absolute error of each service's mean response,
  // of its median one, and of its answers a second;
  // the difference of its violated windows, in points / 100; the absolute error of what was
  // granted, of cells that were granted anything on hardware. Without samples where there are none.
  Estimate response_error, median_error, throughput_error, violation_difference, granted_error;
  // Of the policies; empty where there is only one, or no objective.
  std::optional<RankingAgreement> by_violations, by_granted;
};

// nullopt where no cell has a service. Throws InputError as Summarize does.
std::optional<ServiceAgreement> ValidateServices(const std::vector<ValidationRuns>& runs);

// A table a service, a row a policy and elasticity; one of what was granted; then what they sum up
// to.
std::string ServiceValidationTable(const ServiceAgreement& agreement);

}  // namespace cosched
