#pragma once
// What a run will do, drawn before it does anything: one trace a trial, replayed identically for
// every policy and elasticity, and the cells in randomised complete blocks: a trial is a block, in
// which every policy and elasticity has one cell, in a seeded random order. A machine that drifts
// thus hits all of them alike. Pure: equal configurations give equal plans.

#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
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

// Puts the cells of one trial into their order. blocks: of all trials.
template <typename Cell>
void ShuffleBlock(const Random& blocks, int trial, std::vector<Cell>* block) {
  Random order = blocks.Derive(std::to_string(trial));
  for (size_t i = block->size(); i > 1; --i) std::swap((*block)[i - 1], (*block)[order.Below(i)]);
}

// The job of the index-th arrival of a trial: no more elastic than its cell and than it says
// itself. Its id is the index, and its seed depends on experiment, trial and index only, so that it
// is the same job in every cell.
Job JobOf(const ExperimentConfig& config, const JobArrival& arrival, int64_t index,
          Elasticity elasticity);
TenantSpec SpecOf(const ExperimentConfig& config, const JobArrival& arrival, int64_t index,
                  int trial);

}  // namespace cosched
