#include "experiments/analysis/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "engine/base/error.h"
#include "experiments/analysis/comparison_runs.h"
#include "experiments/analysis/sweep_table.h"
#include "tests/experiments/analysis/comparison_fixture.h"

namespace cosched {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTwo = R"("strict", "max-prop")";

TEST_F(ComparisonTest, RowsHaveMediansAndTheTitleTheIntervalsTrueLevel) {
  WriteManifest({.policies = kTwo});
  WriteTrials("strict", Elasticity::kRigid, {.seconds = 20});
  WriteTrials("max-prop", Elasticity::kRigid, {.seconds = 10});
  const std::string table = Table();
  EXPECT_THAT(table, HasSubstr("6 cells = 2 policies x 1 elasticity x 3 trials\n"));
  EXPECT_THAT(table, HasSubstr("median over trials [range of 3: 75 %]\n"));
  EXPECT_THAT(table, Not(HasSubstr("95 %")));
  EXPECT_THAT(table, ContainsRegex("strict +22\\.0 \\[21\\.0 23\\.0\\] +22\\.0"));
}

TEST_F(ComparisonTest, HardwareThreadsAreTold) {
  const std::string threads = "8 cores (16 threads, one a core)";
  const std::string machine = fmt::format(R"(, "smt": "cores", "hardware_threads": "{}")", threads);
  WriteManifest({.policies = kTwo, .configured = machine});
  WriteTrials("strict", Elasticity::kRigid, {.seconds = 20});
  EXPECT_THAT(Table(), HasSubstr("x 3 trials\non " + threads + "\n"));
  EXPECT_THAT(Unwrapped(SweepTable({Run()}).text), HasSubstr("* on " + threads + ": run"));
}

TEST_F(ComparisonTest, KindsOfCoresAreTold) {
  const std::string kinds = "cores of 2 kinds: 0-7, slower 8-15";
  WriteManifest({.policies = kTwo, .configured = fmt::format(R"(, "core_kinds": "{}")", kinds)});
  WriteTrials("strict", Elasticity::kRigid, {.seconds = 20});
  EXPECT_THAT(Table(), HasSubstr("x 3 trials\non " + kinds + "\n"));
  EXPECT_THAT(Unwrapped(SweepTable({Run()}).text), HasSubstr("* on " + kinds + ": run"));
}

TEST_F(ComparisonTest, SaysHowTenantsWereMoved) {
  WriteTrials("strict", Elasticity::kRigid, {});
  WriteManifest({.actuator = "affinity"});
  EXPECT_THAT(Table(), HasSubstr("tenants were moved by the actuator affinity\n"));
  WriteManifest({.backend = "simulated", .actuator = "affinity"});
  EXPECT_THAT(Table(), Not(HasSubstr("actuator")));
}

// Traces differ far more than the policies do: pooled ranks overlap, each trial's ratio tells.
TEST_F(ComparisonTest, PoliciesAreComparedTrialByTrialWithTheBest) {
  WriteManifest({.trials = 8, .policies = kTwo});
  WriteRatios("strict", Elasticity::kRigid, 1, 8);
  WriteRatios("max-prop", Elasticity::kRigid, 0.9, 8);
  const std::string table = Table();
  EXPECT_THAT(table, HasSubstr("rigid: each policy against max-prop, the lowest median makespan"));
  EXPECT_THAT(table, ContainsRegex("strict +1\\.10[56] \\[1\\.10[0-9] 1\\.1[01][0-9]\\] +0\\.008 "
                                   "+\\+1\\.00 +0/8"));
  EXPECT_THAT(table, ContainsRegex("makespan: strict is 1[01] to 11 % longer than max-prop\n"));
  EXPECT_LT(table.find("each policy against"), table.find("median over trials"));
}

TEST_F(ComparisonTest, TheBaselineMayBeNamedAndMustBeThere) {
  WriteManifest({.trials = 8, .policies = kTwo});
  WriteRatios("strict", Elasticity::kRigid, 1, 8);
  WriteRatios("max-prop", Elasticity::kRigid, 0.9, 8);
  EXPECT_THAT(CompareRuns({Run()}, {.baseline = "strict"}).text,
              AllOf(HasSubstr("rigid: each policy against strict"),
                    ContainsRegex("max-prop +0\\.90[45] .* 8/8"),
                    ContainsRegex("makespan: max-prop is 9\\.[0-9] to 9\\.[0-9] % shorter than "
                                  "strict\n")));
  try {
    CompareRuns({Run()}, {.baseline = "stritc"});
    FAIL() << "an unknown baseline was accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("--baseline"), HasSubstr("strict, max-prop")));
  }
}

TEST_F(ComparisonTest, TheExperimentMayNameTheBaselineBeforeItRuns) {
  WriteManifest({.trials = 8, .policies = kTwo, .baseline = "strict"});
  WriteRatios("strict", Elasticity::kRigid, 1, 8);
  WriteRatios("max-prop", Elasticity::kRigid, 0.9, 8);
  EXPECT_THAT(Table(), HasSubstr("rigid: each policy against strict\n"));
  EXPECT_THAT(CompareRuns({Run()}, {.baseline = "max-prop"}).text,
              HasSubstr("rigid: each policy against max-prop\n"));
}

TEST_F(ComparisonTest, WhatIsNotDecidedIsToldWithTheTrialsThatWouldDecide) {
  WriteManifest({.trials = 5, .policies = kTwo});
  WriteRatios("strict", Elasticity::kRigid, 1, 5);
  WriteRatios("max-prop", Elasticity::kRigid, 0.9, 5);
  EXPECT_THAT(Unwrapped(Table()),
              HasSubstr("makespan: not decided: strict: 5 trials cannot decide 1 "
                        "comparison, at least 6 are needed"));

  WriteManifest({.trials = 8, .policies = kTwo}, "noisy");
  for (int trial = 1; trial <= 8; ++trial) {
    Write({"strict", Elasticity::kRigid, trial}, {.seconds = 10.0 + trial}, "noisy");
    Write({"max-prop", Elasticity::kRigid, trial},
          {.seconds = (10.0 + trial) * (trial % 2 == 0 ? 1.2 : 0.83)}, "noisy");
  }
  EXPECT_THAT(Unwrapped(ComparisonTable(Run("noisy"))),
              ContainsRegex("makespan: not decided: strict: 8 trials can tell differences of "
                            "[0-9]+ % and more; 5 % takes about [0-9]+"));
}

// The best is what the data chose: its lead over five equal ones is no single comparison.
TEST_F(ComparisonTest, TheChoiceOfTheBestIsCorrectedForAllPairs) {
  WriteManifest({.trials = 8, .policies = R"("a", "b", "c")"});
  WriteRatios("a", Elasticity::kRigid, 1, 8);
  WriteRatios("b", Elasticity::kRigid, 1.1, 8);
  WriteRatios("c", Elasticity::kRigid, 1.2, 8);
  EXPECT_THAT(Table(), AllOf(HasSubstr("p corrected for all 3 pairs"),
                             ContainsRegex("b +1\\.10[0-9] .* 0\\.023 +\\+1")));
  EXPECT_THAT(CompareRuns({Run()}, {.baseline = "a"}).text,
              AllOf(HasSubstr("p corrected for 2 comparisons"),
                    ContainsRegex("b +1\\.10[0-9] .* 0\\.016 +\\+1")));
}

TEST_F(ComparisonTest, MalleableIsSetAgainstRigidTrialByTrial) {
  WriteManifest({.trials = 6, .elasticity = R"("rigid", "malleable")"});
  WriteRatios("strict", Elasticity::kRigid, 1, 6);
  WriteRatios("strict", Elasticity::kMalleable, 0.9, 6);
  EXPECT_THAT(
      Table(),
      AllOf(HasSubstr("malleable against rigid, policy by policy\n"),
            ContainsRegex("strict +0\\.90[0-9] \\[0\\.90[0-9] 0\\.90[0-9]\\] +0\\.031 +-1\\.00 "
                          "+6/6"),
            HasSubstr("malleable under strict is 9.4 to 9.9 % shorter than rigid")));
}

TEST_F(ComparisonTest, SmallPAreNeverZero) {
  WriteManifest({.trials = 12, .policies = kTwo});
  WriteRatios("strict", Elasticity::kRigid, 1, 12);
  WriteRatios("max-prop", Elasticity::kRigid, 0.9, 12);
  EXPECT_THAT(Table(), AllOf(HasSubstr(" <0.001 "), Not(HasSubstr(" 0.000 "))));
}

TEST_F(ComparisonTest, WhatIsTheSameIsNotTested) {
  WriteManifest({.trials = 6, .policies = kTwo});
  WriteRatios("strict", Elasticity::kRigid, 1, 6);
  WriteRatios("max-prop", Elasticity::kRigid, 1, 6);
  EXPECT_THAT(Table(), AllOf(ContainsRegex("max-prop +1\\.000 +- +1\\.000 +-"),
                             HasSubstr("makespan: the same as strict: max-prop")));
}

TEST_F(ComparisonTest, TrialsOfOneTraceAreRepetitions) {
  WriteManifest({.trials = 6, .policies = kTwo, .one_trace = true});
  WriteTrials("strict", Elasticity::kRigid, {.seconds = 20}, 6);
  WriteTrials("max-prop", Elasticity::kRigid, {.seconds = 10}, 6);
  EXPECT_THAT(Table(), HasSubstr("6 repetitions of ONE trace: intervals and p are about the "
                                 "machine, not about other workloads"));
  for (int trial = 1; trial <= 6; ++trial) {
    Write({"strict", Elasticity::kRigid, trial}, {.seconds = 20});
    Write({"max-prop", Elasticity::kRigid, trial}, {.seconds = 10});
  }
  EXPECT_THAT(Unwrapped(Table()),
              AllOf(ContainsRegex("strict +2\\.000 +-"), Not(HasSubstr("<0.001")),
                    HasSubstr("trials are copies, nothing can be tested")));
}

// Their jobs are the same, for a service lasts as long as the run; what they are asked is not.
TEST_F(ComparisonTest, TrialsWithOtherRequestsOrClientsAreNoRepetitions) {
  for (const char* asked : {"requests", "clients"}) {
    WriteManifest({.trials = 6,
                   .policies = kTwo,
                   .one_trace = true,
                   .more = fmt::format(R"(, "{}": [1, 2, 3, 4, 5, 6])", asked)});
    WriteTrials("strict", Elasticity::kRigid, {.seconds = 20}, 6);
    WriteTrials("max-prop", Elasticity::kRigid, {.seconds = 10}, 6);
    EXPECT_THAT(Table(), Not(HasSubstr("ONE trace"))) << asked;
  }
}

// With half of the jobs rejected anybody is fast.
TEST_F(ComparisonTest, NobodyWinsByLosingJobs) {
  WriteManifest({.trials = 8, .policies = R"("strict", "static-partition")"});
  for (int trial = 1; trial <= 8; ++trial) {
    Write({"strict", Elasticity::kRigid, trial}, {.seconds = 20.0 + trial, .jobs = 8});
    Write({"static-partition", Elasticity::kRigid, trial},
          {.seconds = 1.0 + trial, .jobs = 8, .rejected = 4});
  }
  const std::string table = Table();
  EXPECT_THAT(table, HasSubstr("each policy against strict, the lowest median makespan"));
  EXPECT_THAT(table, HasSubstr("! static-partition NOT COMPARED: lost 32 of 64 jobs in 8 of 8 "
                               "trials\n"));
  EXPECT_THAT(table, ContainsRegex("! static-partition +5\\.50 .* 32\n +LOST 32 of 64 jobs \\(32 "
                                   "rejected\\) in 8 of 8 trials"));
  EXPECT_THAT(table, Not(HasSubstr("static-partition is")));
}

// Times of jobs that never ran are no times of 0 s; and nothing explains a ratio that is not there.
TEST_F(ComparisonTest, APolicyThatFinishedNoJobHasNoTimes) {
  WriteManifest({.policies = kTwo});
  WriteTrials("strict", Elasticity::kRigid, {.jobs = 2, .rejected = 2});
  WriteTrials("max-prop", Elasticity::kRigid, {});
  const std::string table = Table();
  EXPECT_THAT(table, ContainsRegex("! strict +- +- +- .* 6\n +LOST 6 of 6 jobs"));
  EXPECT_THAT(table, HasSubstr("NOT COMPARED"));
  EXPECT_THAT(table, Not(HasSubstr("Ratios are trial by trial")));
}

TEST_F(ComparisonTest, ATrialThatLostJobsIsInNoFigure) {
  WriteManifest({.trials = 4, .policies = kTwo});
  WriteTrials("strict", Elasticity::kRigid, {.seconds = 20}, 4);
  WriteTrials("max-prop", Elasticity::kRigid, {.seconds = 20, .jobs = 2}, 3);
  Write({"max-prop", Elasticity::kRigid, 4}, {.seconds = 1, .jobs = 2, .rejected = 1});
  EXPECT_THAT(Table(), AllOf(HasSubstr("the figures are of the other 3 trials"),
                             ContainsRegex("! max-prop +22\\.0 \\[21\\.0 23\\.0\\]"),
                             HasSubstr("max-prop/rigid has 3 trials only, others have 4")));
}

TEST_F(ComparisonTest, LinesFitATerminalOfOneHundredAndTenColumns) {
  WriteManifest(
      {.policies = R"("static-partition", "no-control")", .elasticity = R"("rigid", "malleable")"});
  for (const char* policy : {"static-partition", "no-control"}) {
    WriteTrials(policy, Elasticity::kRigid,
                {.seconds = 1234, .runnable = 5, .jobs = 8, .rejected = 2});
    WriteTrials(policy, Elasticity::kMalleable,
                {.seconds = policy == std::string("no-control") ? 1234. : 1111.,
                 .runnable = 5,
                 .mark = std::string(60, 'x') + " yes " + std::string(60, 'y')});
  }
  std::istringstream lines(CompareRuns({Run()}, {.explain = true}).text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110u) << line;
}

TEST_F(ComparisonTest, SaysWhetherMalleableThreadsStayWithinTheirCores) {
  WriteManifest({.elasticity = R"("malleable")"});
  WriteTrials("strict", Elasticity::kMalleable, {});
  EXPECT_THAT(Table(), HasSubstr("never had more runnable compute threads than cores granted"));
  Write({"max-prop", Elasticity::kMalleable, 1}, {.runnable = 3});
  EXPECT_THAT(Table(), AllOf(HasSubstr("WARNING: malleable tenants had more"),
                             HasSubstr("in 1 of 4"), HasSubstr("max-prop/malleable/1")));
}

TEST_F(ComparisonTest, DetailSaysWhatTheKernelCounted) {
  WriteManifest({});
  WriteTrials("strict", Elasticity::kRigid, {.runnable = 3});
  const std::string table = CompareRuns({Run()}, {.detail = true}).text;
  EXPECT_THAT(table, HasSubstr("migrations"));
  EXPECT_THAT(table, Not(HasSubstr("node moves"))) << "there are no nodes";
  // 3 threads on 2 cores; nobody has a cgroup that counts throttling and pressure.
  EXPECT_THAT(table, ContainsRegex("strict +50 .* - +-"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
}

TEST_F(ComparisonTest, DetailSaysHowMuchMemoryMovedBetweenNodes) {
  WriteManifest({});
  WriteTrials("strict", Elasticity::kRigid, {});
  for (int trial = 1; trial <= 3; ++trial) {
    WriteText(CellFolder(Run(), {"strict", Elasticity::kRigid, trial}) / "memory.csv",
              "time,job_id,from,to,outcome,bytes,left_bytes,taken_us\n"
              "1.000000,0,0,1,moved,3000000,0,250.0\n"
              "1.500000,0,1,0,moved,4000000,0,250.0\n");
  }
  EXPECT_THAT(CompareRuns({Run()}, {.detail = true}).text,
              ContainsRegex("node moves +memory moved MB\nstrict +2.00 +7.00\n"));
}

TEST_F(ComparisonTest, SaysWhetherNoControlOversubscribes) {
  WriteManifest({.policies = R"("no-control")"});
  WriteTrials("no-control", Elasticity::kRigid, {.runnable = 4});
  EXPECT_THAT(Table(),
              HasSubstr("no-control with rigid tenants oversubscribes the cores (> 0) in 3 of 3"));
  Write({"no-control", Elasticity::kRigid, 4}, {});
  EXPECT_THAT(Table(), HasSubstr("WARNING: no-control"));
}

TEST_F(ComparisonTest, FewTrialsFailuresAndMarksAreNoted) {
  WriteManifest({.trials = 4});
  Write({"strict", Elasticity::kRigid, 1}, {.mark = "the generator fell behind"});
  Write({"strict", Elasticity::kRigid, 2}, {.end = JobEnd::kFailed});
  Write({"strict", Elasticity::kRigid, 3}, {.seconds = 9999, .status = "failed"});
  Write({"strict", Elasticity::kRigid, 4}, {.mark = "the generator fell behind"});
  EXPECT_THAT(Table(),
              AllOf(HasSubstr("FEW TRIALS: only 2; below 6 nothing is decided"),
                    HasSubstr("LOST JOBS: strict/rigid/2 (1 of 1)"), HasSubstr("FAILED CELL"),
                    HasSubstr("strict/rigid/3: the policy broke"),
                    HasSubstr("MARKED: the generator fell behind: strict/rigid/1, "
                              "strict/rigid/4")));
  WriteTrials("equal-share", Elasticity::kRigid, {});
  EXPECT_THAT(Table(), HasSubstr("FEW TRIALS: only 2 for some rows; below 6 nothing is decided"));
  EXPECT_THAT(Table(), Not(HasSubstr("9999")));  // No figure of a failed cell is used.
}

TEST_F(ComparisonTest, MarkedCellsAreLeftOutOnRequest) {
  WriteManifest({.trials = 4});
  WriteTrials("strict", Elasticity::kRigid, {});
  Write({"strict", Elasticity::kRigid, 4}, {.seconds = 500, .mark = "disturbed"});
  EXPECT_THAT(Table(), HasSubstr("4 cells"));
  EXPECT_THAT(CompareRuns({Run()}, {.exclude_marked = true}).text,
              AllOf(HasSubstr("3 cells"), ContainsRegex("strict +12\\.0 \\[11\\.0 13\\.0\\]"),
                    HasSubstr("1 marked cell left out (--exclude-marked): strict/rigid/4"),
                    Not(HasSubstr("MARKED"))));
}

TEST_F(ComparisonTest, PoliciesKeepTheOrderOfTheExperiment) {
  WriteTrials("always-attend", Elasticity::kRigid, {});
  WriteTrials("strict", Elasticity::kRigid, {});
  WriteManifest({.policies = R"("strict", "always-attend")",
                 .more = R"(, "policies": [{"name": "strict"}, {"name": "always-attend"},
                                          {"name": "unused"}])"});
  const std::string table = Table();
  const std::string medians = table.substr(table.find("median over trials"));
  EXPECT_LT(medians.find("strict"), medians.find("always-attend"));
  EXPECT_THAT(table, Not(HasSubstr("unused")));
}

TEST_F(ComparisonTest, DoubtsOfTheManifestAreTold) {
  WriteTrials("strict", Elasticity::kRigid, {});
  WriteManifest({.more = R"(, "profile_doubts": ["17 of 19 intervals are loose"],
      "resumed": [{"differences": ["build.git_commit: 1 -> 2"]}],
      "redone": [{"cells": ["strict/rigid/2"]},
                 {"status": "running", "cells": ["strict/rigid/3"]}])"});
  EXPECT_THAT(Table(), AllOf(HasSubstr("17 of 19 intervals are loose"),
                             HasSubstr("MIXED: resumed with something else: "
                                       "build.git_commit: 1 -> 2"),
                             HasSubstr("REDONE after the others: strict/rigid/2"),
                             HasSubstr("some of these ran after the others: strict/rigid/3")));
}

TEST_F(ComparisonTest, NoCellIsAnInputErrorThatNamesThePath) {
  try {
    CompareRuns(FindRuns({Run("nothing")}).runs, {});
    FAIL() << "an empty folder was compared";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nothing"));
  }
}

}  // namespace
}  // namespace cosched
