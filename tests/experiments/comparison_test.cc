#include "experiments/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "engine/base/error.h"
#include "experiments/records.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct CellFacts {
  double seconds = 10;  // Of its only job.
  int runnable = 2;     // Of its only sample; two cores are granted.
  JobEnd end = JobEnd::kFinished;
  std::string status = "done";
  std::string mark = {};
};

class ComparisonTest : public ::testing::Test {
 protected:
  void Write(const CellKey& key, const CellFacts& facts, const std::string& run = "run") {
    CellRecords records(Run(run), key, {0, 1});
    const TimePoint end = TimePoint(FromSeconds(facts.seconds));
    records.OnSubmitted({}, {{0}, "resnet20", {1, 2, 2}, key.elasticity, 0});
    records.OnStarted({}, {0}, {0, 1}, {1, 2});
    TenantSample sample;
    sample.job = {0};
    sample.granted = {0, 1};
    sample.runnable_threads = facts.runnable;
    records.OnSample(sample);
    records.OnEnded(end, {0}, facts.end, "");
    if (!facts.mark.empty()) records.Mark(facts.mark);
    records.Finish(facts.status, facts.status == "done" ? "" : "the policy broke its contract");
  }
  void WriteTrials(const std::string& policy, Elasticity elasticity, const CellFacts& facts) {
    for (int trial = 1; trial <= 3; ++trial) {
      CellFacts mine = facts;
      mine.seconds += trial;
      Write({policy, elasticity, trial}, mine);
    }
  }
  std::filesystem::path Run(const std::string& run = "run") const { return folder_.path() / run; }
  std::string Table() const { return ComparisonTable({Run()}); }

  TemporaryFolder folder_;
};

TEST_F(ComparisonTest, RowsHaveMediansWithIntervalsAndWins) {
  WriteTrials("strict", Elasticity::kRigid, {.seconds = 20});
  WriteTrials("max-prop", Elasticity::kRigid, {.seconds = 10});
  const std::string table = Table();
  EXPECT_THAT(table, HasSubstr("6 cells = 2 policies x 1 elasticity x 3 trials"));
  EXPECT_THAT(table, ::testing::ContainsRegex("strict +22\\.0 \\[21\\.0 23\\.0\\] +22\\.0"));
  EXPECT_THAT(table, HasSubstr("wins by makespan, of 3 trials: max-prop 3\n"));
  EXPECT_THAT(table, HasSubstr("wins by mean turnaround, of 3 trials: max-prop 3\n"));
}

TEST_F(ComparisonTest, MalleableIsSetAgainstRigid) {
  WriteTrials("strict", Elasticity::kRigid, {.seconds = 20});
  WriteTrials("strict", Elasticity::kMalleable, {.seconds = 9});
  EXPECT_THAT(Table(), ::testing::ContainsRegex("strict +0\\.500 +-1\\.00 +0\\.100"));
}

TEST_F(ComparisonTest, LinesFitATerminalOfOneHundredAndTenColumns) {
  for (const char* policy : {"static-partition", "no-control"}) {
    WriteTrials(policy, Elasticity::kRigid, {.seconds = 1234, .runnable = 5});
    WriteTrials(policy, Elasticity::kMalleable,
                {.seconds = 1234,
                 .runnable = 5,
                 .mark = std::string(60, 'x') + " yes " + std::string(60, 'y')});
  }
  std::istringstream lines(Table());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110u) << line;
}

TEST_F(ComparisonTest, SaysWhetherMalleableThreadsStayWithinTheirCores) {
  WriteTrials("strict", Elasticity::kMalleable, {});
  EXPECT_THAT(Table(), HasSubstr("never had more runnable compute threads than cores granted"));
  Write({"max-prop", Elasticity::kMalleable, 1}, {.runnable = 3});
  EXPECT_THAT(Table(), AllOf(HasSubstr("WARNING: malleable tenants had more"),
                             HasSubstr("in 1 of 4"), HasSubstr("max-prop/malleable/1")));
}

TEST_F(ComparisonTest, DetailSaysWhatTheKernelCounted) {
  WriteTrials("strict", Elasticity::kRigid, {.runnable = 3});
  const std::string table = DetailTable({folder_.path()});
  EXPECT_THAT(table, HasSubstr("migrations"));
  // 3 threads on 2 cores; nobody has a cgroup that counts throttling and pressure.
  EXPECT_THAT(table, ::testing::ContainsRegex("strict +50 .* - +-"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
}

TEST_F(ComparisonTest, SaysWhetherTheBaselineOversubscribes) {
  WriteTrials("no-control", Elasticity::kRigid, {.runnable = 4});
  EXPECT_THAT(Table(),
              HasSubstr("no-control with rigid tenants oversubscribes the cores (> 0) in 3 of 3"));
  Write({"no-control", Elasticity::kRigid, 4}, {});
  EXPECT_THAT(Table(), HasSubstr("WARNING: no-control"));
}

TEST_F(ComparisonTest, FewTrialsFailuresAndMarksAreNoted) {
  Write({"strict", Elasticity::kRigid, 1}, {.mark = "the generator fell behind"});
  Write({"strict", Elasticity::kRigid, 2}, {.end = JobEnd::kFailed});
  Write({"strict", Elasticity::kRigid, 3}, {.seconds = 9999, .status = "failed"});
  EXPECT_THAT(
      Table(),
      AllOf(HasSubstr("FEW TRIALS: only 2"), HasSubstr("FAILED JOBS: 1 of 1 in strict/rigid/2"),
            HasSubstr("FAILED CELL"), HasSubstr("strict/rigid/3: the policy broke"),
            HasSubstr("MARKED: the generator fell behind (strict/rigid/1)")));
  EXPECT_THAT(Table(), Not(HasSubstr("9999")));  // Of no failed cell is any figure used.
}

TEST_F(ComparisonTest, PoliciesKeepTheOrderOfTheExperiment) {
  WriteTrials("always-attend", Elasticity::kRigid, {});
  WriteTrials("strict", Elasticity::kRigid, {});
  WriteText(Run() / "manifest.json",
            R"({"policies": [{"name": "strict"}, {"name": "always-attend"}, {"name": "unused"}]})");
  EXPECT_LT(Table().find("strict"), Table().find("always-attend"));
  EXPECT_THAT(Table(), Not(HasSubstr("unused")));
}

TEST_F(ComparisonTest, AFolderOfRunsIsPooled) {
  Write({"strict", Elasticity::kRigid, 1}, {}, "quickstart/a");
  Write({"strict", Elasticity::kRigid, 1}, {}, "quickstart/b");
  EXPECT_EQ(FindRuns({Run("quickstart")}).size(), 2u);
  EXPECT_THAT(ComparisonTable({Run("quickstart")}), HasSubstr("2 runs are pooled"));
}

TEST_F(ComparisonTest, NoCellIsAnInputErrorThatNamesThePath) {
  try {
    ComparisonTable({Run("nothing")});
    FAIL() << "an empty folder was compared";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nothing"));
  }
}

}  // namespace
}  // namespace cosched
