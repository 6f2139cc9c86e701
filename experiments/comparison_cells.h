#pragma once
// The cells that a comparison is about, in groups: one policy in one elasticity over all trials of
// all runs. Pure but for reading files; used by comparison.cc.

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/metrics.h"

namespace cosched {

struct ComparedCell {
  std::pair<int, int> trial;  // Run (as given) and trial: cells of one trial had the same arrivals.
  CellSummary summary;
  ThreadExcess excess;
};

struct Group {
  std::string policy;
  Elasticity elasticity = Elasticity::kMalleable;
  std::vector<ComparedCell> cells;   // Those that are "done".
  std::vector<ComparedCell> failed;  // Never part of a figure.

  std::vector<double> Values(double CellSummary::*metric) const;
  // Of the cells that have it.
  std::vector<double> Values(std::optional<double> CellSummary::*metric) const;
};

struct ComparedCells {
  std::vector<Group> groups;  // By elasticity, then in the order of the experiment's policies.
  std::vector<std::string> policies;     // In the order of the experiment.
  std::vector<Elasticity> elasticities;  // Those that occur.
  int runs = 0;
  int cells = 0;
  int simulated = 0;               // Of these cells.
  std::set<std::string> profiles;  // What the simulated ones rest on: file names.
  int trials = 0;                  // (run, trial) pairs.

  size_t NameWidth() const;  // Of a column of policies.
  const Group* Find(const std::string& policy,
                    Elasticity elasticity) const;  // nullptr if there is none.
};

ComparedCells ReadCells(const std::vector<std::filesystem::path>& runs);

}  // namespace cosched
