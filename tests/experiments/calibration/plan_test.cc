// What a calibration is to measure.

#include "experiments/calibration/plan.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "tests/experiments/calibration/formula_machine.h"

namespace cosched {
namespace {

using Kind = Measurement::Kind;

TEST(CalibrationPlan, HasTheThreadsOfOneCoreWhereTheyAreCores) {
  const auto siblings = [](int threads_per_core) {
    int count = 0;
    for (const Measurement& measurement : PlanCalibration(2, 4, threads_per_core)) {
      if (measurement.kind != Kind::kSiblings) continue;
      ++count;
      EXPECT_EQ(measurement.programs.size(), 2U);
      EXPECT_EQ(measurement.programs[0], measurement.programs[1]);
      EXPECT_FALSE(measurement.IsOnSharedCores());
    }
    return count;
  };
  EXPECT_EQ(siblings(1), 0);
  EXPECT_EQ(siblings(2), 2);
}

TEST(CalibrationPlan, CoversCoresThreadsAndPairsOnce) {
  const std::vector<Measurement> plan = PlanCalibration(2, 2);
  std::set<std::string> names;
  int pairs = 0;
  for (const Measurement& measurement : plan) {
    EXPECT_TRUE(names.insert(Describe(measurement, kPrograms)).second);
    pairs += measurement.kind == Kind::kCoRun && measurement.IsFitted();
    EXPECT_LE(measurement.kind == Kind::kCoRun ? 2 * measurement.cores : measurement.cores, 2);
  }
  EXPECT_EQ(pairs, 3);
  for (const char* name :
       {"resnet20 train batch 32: 1 core, 1x1 threads",
        "lenet5 train batch 32: 1 core, 1x4 threads",
        "resnet20 train batch 32: 2 cores, 2x1 threads",
        "lenet5 train batch 32: 2 cores, 1x4 threads",
        "resnet20 train batch 32 | lenet5 train batch 32: 1 core each",
        "resnet20 train batch 32: resizes on 2 cores",
        "lenet5 train batch 32: 6 tenants of 2 cores each share 2",
        "lenet5 train batch 32: 4 tenants of 1 core each share 2",
        "resnet20 train batch 32 | lenet5 train batch 32: 2 cores, the second on "
        "1 of them"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const Measurement& measurement : PlanCalibration(3, 12)) {
    EXPECT_TRUE(measurement.kind != Kind::kCoRun || measurement.programs.size() < 3 ||
                measurement.cores == 4);
  }
}

// A slow-down is of a program that was measured alone with as many cores and threads.
TEST(CalibrationPlan, WhatRunsBesideOthersRunsAloneToo) {
  for (int cores = 1; cores <= 130; ++cores) {
    const std::vector<Measurement> plan = PlanCalibration(3, cores);
    std::set<std::tuple<size_t, int, Split>> alone;
    for (const Measurement& one : plan) {
      if (one.kind != Kind::kAlone) continue;
      EXPECT_TRUE(alone.emplace(one.programs[0], one.cores, one.threads).second) << cores;
    }
    for (const Measurement& one : plan) {
      if (one.programs.size() < 2) continue;
      for (size_t i = 0; i < one.programs.size(); ++i) {
        EXPECT_TRUE(alone.contains({one.programs[i], one.CoresOf(i), one.ThreadsOfTenant(i)}))
            << cores << ": " << Describe(one, {ProgramOf("a"), ProgramOf("b"), ProgramOf("c")});
      }
    }
  }
}

}  // namespace
}  // namespace cosched
