#pragma once
// What a run will do, drawn before it does anything: one trace a trial, replayed identically for
// every policy and elasticity, and the cells in randomised complete blocks: a trial is a block, in
// which every policy and elasticity has one cell, in a seeded random order. A machine that drifts
// thus hits all of them alike. Pure: equal configurations give equal plans.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "experiments/config/experiment_config.h"
#include "experiments/records/cell_records.h"
#include "traces/arrivals/client_script.h"

namespace cosched {

struct Plan {
  // By trial - 1; the first arrival of each is at 0. Every instance of a service is
  // there as a job that arrives at 0, before all others.
  std::vector<JobTrace> traces;
  std::vector<RequestTrace> requests;  // The same, of the same clock; a request's id is its index.
  // The same: clients of closed loops. Their requests' ids follow, in the order of their asking.
  std::vector<std::vector<ClientScript>> clients;
  std::vector<CellKey> cells;  // In the order in which they run.
};

bool HasClients(const Plan& plan);                  // In some trial.
size_t RequestsOf(const Plan& plan, size_t trial);  // Also those that clients will ask.

Plan MakePlan(const ExperimentConfig& config);

// Puts the cells of one trial into their order. blocks: of all trials.
template <typename Cell>
void ShuffleBlock(const Random& blocks, int trial, std::vector<Cell>* block) {
  Random order = blocks.Derive(std::to_string(trial));
  for (size_t i = block->size(); i > 1; --i) std::swap((*block)[i - 1], (*block)[order.Below(i)]);
}

// The jobs of a cell's arrivals: no more elastic than the cell and than they say themselves. The id
// of the index-th is the index, and its seed depends on experiment, trial and index only, so that
// it is the same job in every cell. Remembers what the jobs of a workload have in common: a
// simulated job takes a microsecond or two in all. The configuration outlives it. One thread.
class CellJobs {
 public:
  CellJobs(const ExperimentConfig& config, Elasticity elasticity, int trial);

  Job JobOf(const JobArrival& arrival, int64_t index);
  const TenantSpec& SpecOf(const JobArrival& arrival, int64_t index);  // Valid until the next.

 private:
  struct Common {
    const WorkloadConfig* workload = nullptr;
    TenantSpec spec;
    std::optional<ServiceId> service;
    int64_t first_instance = 0;  // A service's: the index of its first job.
    // The last job's curve, and whose it is.
    std::optional<std::pair<Elasticity, Split>> curve_of;
    std::shared_ptr<const SpeedCurve> curve;
  };
  Common& CommonOf(const JobArrival& arrival);
  std::shared_ptr<const SpeedCurve> CurveOf(Common* common, Elasticity elasticity, Split threads);

  const ExperimentConfig& config_;
  const Elasticity elasticity_;
  const Random seeds_;
  std::vector<Common> common_;  // What is common to each workload's jobs.
};

}  // namespace cosched
