#pragma once
// A recorded run's arrivals once more, simulated: under the policies that it had (its twins) and
// under another one. What the other one gains is told against the twin, because against the record
// it also holds the simulator's error; both are shown. Called by `cosched replay`.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "experiments/analysis/validation.h"
#include "experiments/config/sweep.h"

namespace cosched {

struct ReplayOptions {
  std::filesystem::path recorded;  // The run's folder.
  std::string recorded_policy;     // Only this one of those it had; "" = all.
  std::string policy;              // The other one.
  std::filesystem::path profile;   // "" = that of the run.
  std::vector<std::string> set;    // Overrides, as --set.
  bool policy_is_set = false;      // By `set`, because it comes from outside of the tree.
};

// What a run recorded of itself (manifest.json), to be run again by the simulator: machine,
// workloads, parameters and arrivals; its name has "-replay" behind it. scratch: a folder for files
// while this runs. Throws InputError: no such run, a sweep, a policy that is not there, no profile.
Sweep LoadReplay(const ReplayOptions& options, const std::filesystem::path& scratch,
                 const Topology& topology);

// Follows one policy up to a moment and another one from the first decision at or after it: what
// follows a recorded state.
std::unique_ptr<Policy> SwitchAt(double time_s, std::unique_ptr<Policy> before,
                                 std::unique_ptr<Policy> after);

// One policy that the run had, beside the other one.
struct Counterfactual {
  std::string recorded_policy;
  Elasticity elasticity = Elasticity::kMalleable;
  int trials = 0;  // With an outcome in all three.
  struct Row {
    double recorded = 0, twin = 0, other = 0;  // Medians over trials.
    Estimate over_twin;    // Ratio other : twin - 1 in one trial; what the policy changes.
    Estimate over_record;  // Ratio other : recorded - 1.
    Estimate model_error;  // Ratio twin : recorded - 1.
  };
  std::array<Row, kMetrics.size()> rows;
  std::vector<std::string> left_out;  // Trials without an outcome, and why.
};

// twins, other: where the simulated cells are; of the second the cells of `policy`.
std::vector<Counterfactual> CompareReplay(const std::filesystem::path& recorded,
                                          const std::filesystem::path& twins,
                                          const std::filesystem::path& other,
                                          const std::string& policy);

std::string ReplayTable(const std::vector<Counterfactual>& results, const std::string& policy);

}  // namespace cosched
