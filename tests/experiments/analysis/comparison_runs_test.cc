// Which runs a comparison takes, and which it pools.

#include "experiments/analysis/comparison_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "experiments/analysis/comparison_notes.h"
#include "experiments/analysis/same_run_check.h"
#include "experiments/analysis/sweep_table.h"
#include "tests/experiments/analysis/comparison_fixture.h"

namespace cosched {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ComparedRunsTest : public ComparisonTest {
 protected:
  // `noise`: one run's cells are not another's.
  void WriteRun(const std::string& run, const RunFacts& facts, double seconds = 20,
                double noise = 0) {
    WriteManifest(facts, run);
    for (int trial = 1; trial <= facts.trials; ++trial) {
      Write({"strict", Elasticity::kRigid, trial},
            {.seconds = seconds + trial + noise * (trial % 3)}, run);
    }
  }
  std::string Compare(const std::vector<std::string>& names,
                      const ComparisonOptions& options = {}) {
    std::vector<std::filesystem::path> runs;
    for (const std::string& name : names) runs.push_back(Run(name));
    return Unwrapped(CompareRuns(runs, options).text);
  }
};

TEST_F(ComparedRunsTest, AFolderOfRunsMeansTheNewest) {
  WriteRun("quickstart/20261120T100000Z-aaaa", {});
  WriteRun("quickstart/20261122T100000Z-bbbb", {});
  WriteRun("quickstart/20261121T100000Z-cccc", {});
  const FoundRuns found = FindRuns({Run("quickstart")});
  EXPECT_THAT(found.runs, ElementsAre(Run("quickstart/20261122T100000Z-bbbb")));
  EXPECT_THAT(found.notes, ElementsAre(AllOf(HasSubstr("has 3 runs: the newest"),
                                             HasSubstr("20261122T100000Z-bbbb, is taken"))));
  EXPECT_THAT(FindRuns({Run("quickstart/20261120T100000Z-aaaa")}).notes, IsEmpty());
}

TEST_F(ComparedRunsTest, RunsOfOneExperimentWithOtherTracesArePooled) {
  WriteRun("a", {.seed = 1});
  WriteRun("b", {.seed = 2}, 30);
  EXPECT_THAT(Compare({"a", "b"}), AllOf(HasSubstr("6 cells = 1 policy x 1 elasticity x 6 trials"),
                                         HasSubstr("2 runs are pooled")));
}

TEST_F(ComparedRunsTest, OtherConfigurationsMachinesBinariesAndBackendsStandSideBySide) {
  WriteRun("a", {});
  const std::vector<std::pair<RunFacts, std::string>> others = {
      {{.seed = 2, .jobs = 8}, "trace.jobs: 4 in A, 8 in B"},
      {{.seed = 2, .machine = "host-b"}, "host.name: host-a in A, host-b in B"},
      {{.seed = 2, .commit = "beef"}, "build.git_commit: c0ffee in A, beef in B"},
      {{.backend = "simulated", .seed = 2}, "backend: hardware in A, simulated in B"}};
  for (const auto& [facts, why] : others) {
    WriteRun("b", facts, 44);
    const std::string text = Compare({"a", "b"});
    EXPECT_THAT(
        text, AllOf(HasSubstr("A: "), HasSubstr("B: "), HasSubstr(why),
                    HasSubstr("A and B are not pooled (--pool insists)"), HasSubstr("B / A: ratio"),
                    HasSubstr("Mann-Whitney"), Not(HasSubstr("6 trials"))));
    EXPECT_THAT(text, ContainsRegex("strict/rigid +2\\.09"));
    EXPECT_THAT(Compare({"a", "b"}, {.pool = true}),
                AllOf(HasSubstr("6 trials"), HasSubstr("2 runs are pooled, because --pool "
                                                       "insists")));
  }
}

TEST_F(ComparedRunsTest, TheSameTracesMeasuredTwiceArePairedNotPooled) {
  WriteRun("a", {.trials = 6});
  WriteRun("b", {.trials = 6}, 40, 0.1);
  EXPECT_THAT(Compare({"a", "b"}),
              AllOf(HasSubstr("B / A: median of the trials' ratios [range of 6: 96.8 %]"),
                    ContainsRegex("strict/rigid +1\\.[0-9]+ \\[.*\\] +0\\.062 +\\+1\\.00 +0/6"),
                    HasSubstr("6 trials replayed the same arrivals in both")));
}

TEST_F(ComparedRunsTest, ACopyIsOneDatum) {
  WriteRun("a", {.backend = "simulated"});
  WriteRun("b", {.backend = "simulated"});
  const std::string alone = Compare({"a"});
  for (const bool pool : {false, true}) {
    const std::string both = Compare({"a", "b"}, {.pool = pool});
    EXPECT_THAT(both, HasSubstr("copies are one"));
    EXPECT_NE(both.find(alone), std::string::npos) << both;
  }
}

// One run has two trials more; those that both have are one datum each.
TEST_F(ComparedRunsTest, CopiedCellsAreCountedOnceEvenWherePoolingIsForced) {
  WriteRun("a", {.trials = 3});
  WriteRun("b", {.trials = 5});
  EXPECT_THAT(Compare({"a", "b"}, {.pool = true}),
              AllOf(HasSubstr("5 cells = 1 policy x 1 elasticity x 5 trials"),
                    HasSubstr("copies of other cells here, counted once: b:strict/rigid/1")));
}

TEST_F(ComparedRunsTest, ASameRunCheckPassesFailsOrIsRefused) {
  WriteRun("a", {.trials = 8}, 20);
  WriteRun("b", {.trials = 8, .seed = 2}, 20.3, 0.4);
  const SameRunCheck passed = CheckSameRuns(Run("a"), Run("b"), false);
  EXPECT_FALSE(passed.differs) << passed.text;
  EXPECT_THAT(passed.text, HasSubstr("A/A passed: none of 2 comparisons differs at 5 %"));

  WriteRun("slow", {.trials = 8, .seed = 2}, 40);
  const SameRunCheck failed = CheckSameRuns(Run("a"), Run("slow"), false);
  EXPECT_TRUE(failed.differs);
  EXPECT_THAT(
      Unwrapped(failed.text),
      HasSubstr("A/A FAILED: two runs of the same thing differ (at 5 %, 2 "
                "comparisons) in: strict/rigid by makespan, strict/rigid by mean turnaround"));

  WriteRun("copy", {.trials = 8}, 20);
  WriteRun("other", {.trials = 8, .seed = 2, .jobs = 8}, 20);
  WriteRun("short", {.trials = 2, .seed = 2}, 20.5);
  for (const auto& [name, problem] : {std::pair{"copy", "byte by byte, which proves nothing"},
                                      {"other", "trace.jobs: 4 in A, 8 in B"},
                                      {"short", "2 trials cannot show any difference"}}) {
    try {
      CheckSameRuns(Run("a"), Run(name), false);
      FAIL() << name << " was accepted";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("--aa"), HasSubstr(problem)));
    }
  }
}

TEST_F(ComparedRunsTest, ASameRunCheckSeesLostJobsMissingPoliciesAndDamage) {
  WriteRun("a", {.trials = 8}, 20);
  WriteRun("lossy", {.trials = 8, .seed = 2}, 20.3, 0.4);
  Write({"strict", Elasticity::kRigid, 8}, {.seconds = 21, .jobs = 4, .rejected = 2}, "lossy");
  const SameRunCheck lossy = CheckSameRuns(Run("a"), Run("lossy"), false);
  EXPECT_TRUE(lossy.differs) << lossy.text;
  EXPECT_THAT(Unwrapped(lossy.text),
              AllOf(HasSubstr("! strict/rigid"), HasSubstr("A lost none, B lost 2 jobs in 1 of 8"),
                    HasSubstr("strict/rigid by lost jobs or failed cells")));

  WriteRun("more", {.trials = 8, .seed = 2}, 20.3, 0.4);
  Write({"max-prop", Elasticity::kRigid, 1}, {.seconds = 21}, "more");
  const SameRunCheck more = CheckSameRuns(Run("a"), Run("more"), false);
  EXPECT_TRUE(more.differs) << more.text;
  EXPECT_THAT(Unwrapped(more.text), HasSubstr("max-prop/rigid NOT COMPARED: A has no cell of it"));

  WriteRun("damaged", {.trials = 8, .seed = 2}, 20.3, 0.4);
  WriteText(CellFolder(Run("damaged"), {"strict", Elasticity::kRigid, 3}) / "jobs.csv", "x\n");
  EXPECT_THROW(CheckSameRuns(Run("a"), Run("damaged"), false), InputError);
}

TEST_F(ComparedRunsTest, ASweepsTableTellsDamageAndDoubts) {
  WriteRun("x=1", {});
  WriteManifest({.more = R"(, "profile_doubts": ["17 of 19 intervals are loose"],
      "resumed": [{"differences": ["build.git_commit: 1 -> 2"]}])"},
                "x=2");
  for (int trial = 1; trial <= 3; ++trial)
    Write({"strict", Elasticity::kRigid, trial}, {.seconds = 5.0 + trial}, "x=2");
  const ComparisonReport whole = SweepTable({Run("x=1"), Run("x=2")});
  EXPECT_FALSE(whole.damaged) << whole.text;
  EXPECT_THAT(Unwrapped(whole.text),
              AllOf(HasSubstr("MIXED: resumed with something else: build.git_commit: 1 -> 2: x=2"),
                    HasSubstr("17 of 19 intervals are loose: x=2")));
  WriteText(CellFolder(Run("x=1"), {"strict", Elasticity::kRigid, 3}) / "samples.csv", "time\n");
  const ComparisonReport damaged = SweepTable({Run("x=1"), Run("x=2")});
  EXPECT_TRUE(damaged.damaged);
  EXPECT_THAT(Unwrapped(damaged.text), HasSubstr("left out of every figure: strict/rigid/3"));
}

TEST_F(ComparedRunsTest, ASweepsTableTellsWhatMalleableTenantsChange) {
  WriteManifest({.trials = 3}, "x=1");
  for (int trial = 1; trial <= 3; ++trial) {
    Write({"strict", Elasticity::kRigid, trial}, {.seconds = 2.0 * (5 + trial)}, "x=1");
    Write({"strict", Elasticity::kMalleable, trial}, {.seconds = 5.0 + trial}, "x=1");
  }
  const std::string text = Unwrapped(SweepTable({Run("x=1")}).text);
  EXPECT_THAT(text, HasSubstr("malleable : other class"));
  EXPECT_THAT(text, HasSubstr("x=1 strict rigid 0.500 [0.500 0.500] 0.5")) << text;
}

// The legend's levels are those of the ratios, which are over the trials that both have.
TEST_F(ComparedRunsTest, LevelsAreOfThePairs) {
  WriteManifest({.trials = 8, .policies = R"("strict", "max-prop")"}, "a");
  for (int trial = 1; trial <= 8; ++trial) {
    Write({"strict", Elasticity::kRigid, trial}, {.seconds = 20. + trial}, "a");
    CellFacts facts{.seconds = 12. + trial, .jobs = 4};
    if (trial > 6) facts.rejected = 2;
    Write({"max-prop", Elasticity::kRigid, trial}, facts, "a");
  }
  EXPECT_THAT(Compare({"a"}), HasSubstr("median [range of 6: 96.8 %], below 1"));
}

TEST_F(ComparedRunsTest, TheReasonWhyRunsAreNotPooledIsThatOfTheRunThatDoesNotFit) {
  WriteRun("a", {.seed = 1});
  WriteRun("b", {.seed = 2}, 30);
  WriteRun("again", {.seed = 2}, 31, 0.1);
  EXPECT_THAT(Compare({"a", "b", "again"}),
              HasSubstr("A and B are not pooled (--pool insists): 3 trials replayed the same"));
  EXPECT_THAT(Compare({"a", "b", "again"}, {.pool = true}),
              HasSubstr("3 runs are pooled, because --pool insists"));
}

// With two more measurements of a cell that the first run lacks, neither takes the other's place.
TEST_F(ComparedRunsTest, ForcedPoolingKeepsEveryMeasurement) {
  WriteRun("a", {});
  for (const auto& [run, seconds] : {std::pair{"b", 30.}, std::pair{"c", 40.}}) {
    WriteManifest({}, run);
    for (int trial = 1; trial <= 3; ++trial)
      Write({"max-prop", Elasticity::kRigid, trial}, {.seconds = seconds + trial}, run);
  }
  std::vector<ComparedRun> runs;
  for (const char* name : {"a", "b", "c"}) runs.push_back(ReadComparedRun(Run(name)));
  const ComparedCells cells = ReadCells(runs);
  const CellGroup* group = cells.Find("max-prop", Elasticity::kRigid);
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->ByTrial(&CellSummary::makespan_s).size(), 6u);
}

TEST_F(ComparedRunsTest, WhereAFileLiesIsNoDifference) {
  WriteRun("a", {.more = R"(, "files": {"/home/a/p.json": "12"})"});
  WriteRun("b", {.seed = 2, .more = R"(, "files": {"/home/b/p.json": "12"})"}, 30);
  EXPECT_THAT(Compare({"a", "b"}), HasSubstr("2 runs are pooled"));
  WriteRun("b", {.seed = 2, .more = R"(, "files": {"/home/b/p.json": "13"})"}, 30);
  EXPECT_THAT(Compare({"a", "b"}), HasSubstr("files.p.json: 12 in A, 13 in B"));
}

TEST_F(ComparedRunsTest, ASweepsTableTellsTrueLevelsAndLostJobs) {
  WriteRun("cores=1", {.trials = 5});
  WriteManifest({.trials = 3}, "cores=2");
  for (int trial = 1; trial <= 3; ++trial) {
    Write({"strict", Elasticity::kRigid, trial},
          {.seconds = 5.0 + trial, .mark = "disturbed", .jobs = 4, .rejected = 2}, "cores=2");
  }
  EXPECT_THAT(Unwrapped(SweepTable({Run("cores=1"), Run("cores=2")}).text),
              AllOf(HasSubstr("median over trials [range of 3: 75 %; range of 5: 93.7 %]"),
                    Not(HasSubstr("95 %")), ContainsRegex("! cores=2 strict rigid 3 .* 6 "),
                    HasSubstr("LOST JOBS in every trial: not to be compared: "
                              "cores=2/strict/rigid"),
                    HasSubstr("MARKED: disturbed: cores=2/strict/rigid (all 3 trials)")));
}

std::vector<std::string> Blocks(const std::vector<std::vector<std::string>>& blocks) {
  std::vector<std::string> order;
  for (size_t i = 0; i < blocks.size(); ++i)
    for (const std::string& name : blocks[i]) order.push_back(fmt::format("{}/{}", name, i + 1));
  return order;
}

TEST(OrderDoubts, TreatmentsThatRanEarlyOrLateAreTold) {
  // The order in which a shuffle of all cells once put 30 of them: strict/malleable at 6 to 18,
  // strict/rigid at 15 to 30.
  std::vector<std::string> order(30, "other/rigid/1");
  int trial = 0;
  for (const int place : {6, 8, 9, 11, 18})
    order[place - 1] = fmt::format("strict/malleable/{}", ++trial);
  trial = 0;
  for (const int place : {15, 22, 25, 29, 30})
    order[place - 1] = fmt::format("strict/rigid/{}", ++trial);
  EXPECT_THAT(OrderDoubts(order),
              ElementsAre(AllOf(HasSubstr("strict/malleable ran early (mean place 10.4 of 30)"),
                                HasSubstr("strict/rigid late (24.2)"))));

  std::vector<std::vector<std::string>> fair, unfair;
  for (int i = 0; i < 8; ++i) {
    fair.push_back(i % 2 == 0 ? std::vector<std::string>{"a/rigid", "b/rigid", "c/rigid"}
                              : std::vector<std::string>{"c/rigid", "b/rigid", "a/rigid"});
    unfair.push_back(
        {"a/rigid", i % 2 == 0 ? "b/rigid" : "c/rigid", i % 2 == 0 ? "c/rigid" : "b/rigid"});
  }
  EXPECT_THAT(OrderDoubts(Blocks(fair)), IsEmpty());
  EXPECT_THAT(OrderDoubts(Blocks(unfair)),
              ElementsAre(HasSubstr("a/rigid ran early (mean place 1.0 of 3 in each trial)")));
  EXPECT_THAT(OrderDoubts({}), IsEmpty());
}

}  // namespace
}  // namespace cosched
