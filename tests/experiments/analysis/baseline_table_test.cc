// Policies against a baseline, on cells that were drawn rather than run.

#include "experiments/analysis/baseline_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/random.h"

namespace cosched {
namespace {

std::string TablesOf(const ComparedCells& cells, const std::string& baseline) {
  std::set<int> pairs;
  return BaselineTables(cells, baseline, &pairs);
}

// Makespan of a policy (by index) in a trial.
using Draw = std::function<double(int policy, int trial)>;

ComparedCells DrawCells(int policies, int trials, const Draw& draw) {
  ComparedCells cells;
  cells.elasticities = {Elasticity::kMalleable};
  for (int policy = 0; policy < policies; ++policy) {
    const std::string name = fmt::format("p{}", policy);
    CellGroup group{name, Elasticity::kMalleable, {}, {}};
    for (int trial = 1; trial <= trials; ++trial) {
      ComparedCell cell;
      cell.trial = {0, trial};
      cell.summary.jobs = cell.summary.finished = 1;
      cell.summary.makespan_s = draw(policy, trial);
      // Below the others' by a constant: the same decisions, so one question a set of cells.
      cell.summary.mean_turnaround_s = cell.summary.makespan_s / 2;
      group.cells.push_back(cell);
    }
    cells.policies.push_back(name);
    cells.groups.push_back(std::move(group));
  }
  return cells;
}

bool DecidesAnything(const std::string& table) {
  return table.find(" longer than ") != std::string::npos ||
         table.find(" shorter than ") != std::string::npos ||
         table.find(" times as long as ") != std::string::npos;
}

// The best of sixteen equal policies is ahead of the others by chance, and was chosen because it
// is: corrected for fifteen comparisons only, one table in ten would decide something.
TEST(BaselineTables, OfEqualPoliciesTheOneThatHappensToBeBestIsRarelyDecidedFor) {
  constexpr int kTables = 300, kPolicies = 16, kTrials = 14;
  Random random(7);
  int deciding = 0;
  for (int table = 0; table < kTables; ++table) {
    deciding += DecidesAnything(TablesOf(
        DrawCells(kPolicies, kTrials,
                  [&random](int, int trial) { return trial * std::exp(random.Normal(0, 0.1)); }),
        ""));
  }
  // 5 % of 300, and two standard deviations.
  EXPECT_LE(deciding, 15 + 2 * 3.8);
}

TEST(BaselineTables, ARealDifferenceIsDecidedFor) {
  const ComparedCells cells = DrawCells(3, 10, [](int policy, int trial) {
    return trial * (1 + 0.1 * policy + 0.001 * ((trial * 7 + policy * 3) % 5));
  });
  const std::string table = TablesOf(cells, "");
  EXPECT_NE(table.find("against p0, the lowest median makespan"), std::string::npos) << table;
  EXPECT_NE(table.find("makespan: p2 is "), std::string::npos) << table;
}

TEST(BaselineTables, OnePolicyIsComparedWithNobody) {
  EXPECT_EQ(TablesOf(DrawCells(1, 5, [](int, int trial) { return trial; }), ""), "");
}

}  // namespace
}  // namespace cosched
