#pragma once
// Runs the cells of a plan, one after the other, each on a host of its own: arrivals go to the
// arbiter, the host's events too, samples and steps go to the records. One loop over
// Host::NextEvent; no state outlives a cell, and none is global, so that several experiments can
// run in one process. Called by `cosched run`, and by tests with hosts that are not real.

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "experiments/config/plan.h"
#include "experiments/harness/host_factories.h"

namespace cosched {

// Told how the run goes. Calls come on the harness's thread and must not take long.
class ProgressObserver {
 public:
  virtual ~ProgressObserver() = default;
  virtual void OnCellStarted(const CellKey& key, int jobs) = 0;
  virtual void OnJobsDone(int jobs) = 0;  // In the current cell.
  virtual void OnCellEnded(const CellKey& key,
                           const std::string& problem) = 0;  // problem: "" = none.
};

struct HarnessOptions {
  std::filesystem::path run;  // The run's folder.
  Topology topology;
  HostFactory hosts;
  std::function<bool()> interrupted = [] { return false; };  // Asked after every event and sample.
  ProgressObserver* progress = nullptr;
  // Empty: the registered policy of that name. Else what runs in its place, e.g. a policy that
  // breaks its contract, in tests.
  std::function<std::unique_ptr<Policy>(const std::string& name)> make_policy = {};
  std::vector<std::string> marks = {};  // Every cell gets them (CellRecords::Mark).
};

struct HarnessResult {
  int done = 0;           // Cells whose every job ended as the policy wanted.
  int failed = 0;         // Cells that were given up (their records say "failed" and why) ...
  int with_failures = 0;  // ... and those that are whole but in which a job failed.
  bool interrupted = false;
};

// Runs `cells` (of the plan) in their order. A cell whose policy breaks its contract, or that can
// never drain, is recorded as failed and the run goes on; an interrupt cancels the jobs of the
// current cell, which stays partial. Throws OutputError if the records can't be written.
HarnessResult RunCells(const ExperimentConfig& config, const Plan& plan,
                       const std::vector<CellKey>& cells, const HarnessOptions& options);

}  // namespace cosched
