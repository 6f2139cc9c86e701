#pragma once
// The cells that a comparison is about, in groups: one policy in one elasticity over all trials of
// runs that are pooled. Pure but for reading files; used by the comparison's tables.

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/analysis/comparison_runs.h"
#include "experiments/analysis/metrics.h"

namespace cosched {

struct ComparedCell {
  std::pair<int, int> trial;  // Run (as given) and trial: cells of one trial had the same arrivals.
  std::string name;           // "strict/rigid/1", behind its run's name where there are several.
  CellSummary summary;
  ThreadExcess excess;
};

struct CellGroup {
  std::string policy;
  Elasticity elasticity = Elasticity::kMalleable;
  std::vector<ComparedCell> cells;   // Those that are "done".
  std::vector<ComparedCell> failed;  // Never part of a figure.

  int LostJobs() const;    // Jobs of the cells that were rejected, cancelled or failed.
  int LossyCells() const;  // Those that lost one.
  // What the group's figures are of: the cells that lost no job; all, if each lost one. Only the
  // former may be compared by makespan and turnaround.
  std::vector<const ComparedCell*> Shown() const;
  // Of those in which a job finished: without one, times are 0 and mean nothing.
  std::vector<double> Values(double CellSummary::*metric) const;
  // Values of the cells that have it.
  std::vector<double> Values(std::optional<double> CellSummary::*metric) const;
  std::vector<double> Values(std::optional<int64_t> CellSummary::*metric) const;
  // By trial, of the cells that lost no job.
  std::map<std::pair<int, int>, double> ByTrial(double CellSummary::*metric) const;
};

struct ComparedCells {
  std::vector<ComparedRun> runs;
  std::vector<CellGroup> groups;  // By elasticity, then in the order of the experiment's policies.
  std::vector<std::string> policies;     // In the order of the experiment.
  std::vector<Elasticity> elasticities;  // Those that occur.
  int cells = 0;
  int simulated = 0;                             // How many of these were simulated.
  std::set<std::string> profiles;                // What the simulated ones rest on: file names.
  int trials = 0;                                // (run, trial) pairs.
  std::map<std::pair<int, int>, size_t> traces;  // By trial: a hash of its arrivals, 0 = unknown.
  // Names of cells that are in no group.
  std::vector<std::string> unreadable;  // What is wrong with it, besides.
  std::vector<std::string> excluded;    // Marked, and asked to be left out.
  std::vector<std::string> copies;      // Records that another cell here has, byte by byte.

  // Several trials, all of the same arrivals: repeated measurements of one thing.
  bool RepeatsOneTrace() const;
  size_t NameWidth() const;  // Width of a column of policies.
  const CellGroup* Find(const std::string& policy,
                        Elasticity elasticity) const;  // nullptr if there is none.
};

// The names of a group's cells that have a mark, by mark.
std::map<std::string, std::vector<std::string>> CellsByMark(const CellGroup& group);
// Some cells of a group, for a note: "strict/rigid (all 3 trials)", or their own names.
std::vector<std::string> CellNames(const CellGroup& group, const std::vector<std::string>& cells);

ComparedCells ReadCells(const std::vector<ComparedRun>& runs, bool exclude_marked = false);

}  // namespace cosched
