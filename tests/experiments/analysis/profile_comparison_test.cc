#include "experiments/analysis/profile_comparison.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

Profile Measured(double speed) {
  Profile profile;
  profile.cores = 2;
  ProgramProfile program;
  program.program = "lenet5 train batch 64";
  const auto estimate = [speed](double value) {
    return Estimate{speed * value, speed * value * 0.95, speed * value * 1.05, 6};
  };
  program.alone = {{1, {1, 1}, estimate(0.2)}, {2, {1, 2}, estimate(0.1)}};
  program.start_s = {0.3, 0.25, 0.35, 6};
  program.crowding = {{2, 1, {1.2, 1.1, 1.3, 6}}};
  profile.programs = {program};
  profile.co_runs = {{{{"lenet5 train batch 64", 1, 1, {1.1, 1.0, 1.2, 6}}}, true, 0}};
  return profile;
}

TEST(ProfileComparison, OfItselfAgrees) {
  const std::vector<ComparedQuantity> quantities = CompareProfiles(Measured(1), Measured(1));
  EXPECT_EQ(quantities.size(), 5U) << "what was not measured is not compared";
  EXPECT_TRUE(Agree(quantities));
  const std::string text = ProfileComparisonText(quantities);
  EXPECT_NE(text.find("5 of 5 quantities agree"), std::string::npos) << text;
  EXPECT_EQ(text.find("drifted"), std::string::npos) << text;
}

TEST(ProfileComparison, WhatMemoryCostsIsCompared) {
  Profile a = Measured(1), b = Measured(1);
  for (Profile* profile : {&a, &b}) {
    profile->programs[0].far_memory = {1.2, 1.1, 1.3, 6};
    profile->programs[0].memory_bytes = {4e8, 3.9e8, 4.1e8, 6};
    profile->move_bytes_s = {2e9, 1.9e9, 2.1e9, 6};
  }
  EXPECT_EQ(CompareProfiles(a, b).size(), 8U);
  EXPECT_TRUE(Agree(CompareProfiles(a, b)));
  b.move_bytes_s = {4e9, 3.9e9, 4.1e9, 6};
  EXPECT_FALSE(Agree(CompareProfiles(a, b)));
}

TEST(ProfileComparison, WhatDriftedIsNamed) {
  const std::vector<ComparedQuantity> quantities = CompareProfiles(Measured(1), Measured(1.2));
  EXPECT_FALSE(Agree(quantities));
  const std::string text = ProfileComparisonText(quantities);
  EXPECT_NE(text.find("3 of 5 quantities agree"), std::string::npos) << text;
  EXPECT_NE(text.find("drifted: lenet5 train batch 64: step on 1 core, 1x1 threads: +20.0 %"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("B takes 1.200 times as long as A (median of 2"), std::string::npos) << text;
  EXPECT_TRUE(Agree(CompareProfiles(Measured(1), Measured(1.09)))) << "intervals that overlap";
}

TEST(ProfileComparison, WithoutAnIntervalNothingIsTold) {
  Profile single = Measured(2);
  for (SpeedPoint& point : single.programs[0].alone) point.step_s.samples = 1;
  const std::vector<ComparedQuantity> quantities = CompareProfiles(Measured(1), single);
  EXPECT_TRUE(Agree(quantities));
  const std::string text = ProfileComparisonText(quantities);
  EXPECT_NE(text.find("no interval"), std::string::npos) << text;
  EXPECT_NE(text.find("3 of 3 quantities agree"), std::string::npos) << text;
}

TEST(ProfileComparison, OfOtherProgramsHasNothing) {
  Profile other = Measured(1);
  other.programs[0].program = "alexnet train batch 8";
  other.co_runs.clear();
  EXPECT_TRUE(CompareProfiles(Measured(1), other).empty());
}

}  // namespace
}  // namespace cosched
