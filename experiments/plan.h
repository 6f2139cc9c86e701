#pragma once
// What a run will do, drawn before it does anything: one trace a trial, replayed identically for
// every policy and elasticity, and all cells in one seeded random order. Pure: equal configurations
// give equal plans.

#include <string>
#include <vector>

#include "experiments/config.h"
#include "experiments/records.h"

namespace cosched {

struct Plan {
  // By trial - 1; the first arrival of each is at 0. Every service is there as a job that arrives
  // at 0, before all others.
  std::vector<JobTrace> traces;
  std::vector<RequestTrace> requests;  // The same, of the same clock; a request's id is its index.
  std::vector<CellKey> cells;          // In the order in which they run.
};

Plan MakePlan(const ExperimentConfig& config);

// The job of the index-th arrival of a trial: no more elastic than its cell and than it says
// itself. Its id is the index, and its seed depends on experiment, trial and index only, so that it
// is the same job in every cell.
Job JobOf(const ExperimentConfig& config, const JobArrival& arrival, int64_t index,
          Elasticity elasticity);
TenantSpec SpecOf(const ExperimentConfig& config, const JobArrival& arrival, int64_t index,
                  int trial);

}  // namespace cosched
