// Runs of one experiment on a host without processes, as the hardware; the same again, slower,
// failed or cut short, as a simulator that is more or less right.

#include "experiments/analysis/validation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "experiments/harness/harness.h"
#include "tests/experiments/harness/fake_observed_host.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

class ValidationTest : public testing::Test {
 protected:
  ValidationTest() {
    WriteText(folder_.path() / "x.toml", R"(name = "x"
trials = 5
policies = ["strict", "static-partition", "equal-share"]
[trace]
jobs = 6
gap = { distribution = "exponential", mean_s = 0.05 }
[[workload]]
model = "lenet5"
steps = 30
cores = { min = 1, preferred = 3, max = 4 }
)");
  }

  std::filesystem::path RunIt(const std::string& name,
                              const std::vector<std::string>& overrides = {}) {
    const ExperimentConfig config = LoadConfig(folder_.path() / "x.toml", overrides, topology_);
    const Plan plan = MakePlan(config);
    RunCells(config, plan, plan.cells,
             {.run = folder_.path() / name,
              .topology = topology_,
              .hosts = FakeObservedHost::Factory(&script_)});
    return folder_.path() / name;
  }

  const TemporaryFolder folder_;
  const Topology topology_ = Topology::Synthetic("pack:1 [numa] l3:1 core:4 pu:1");
  FakeHostScript script_;
};

TEST_F(ValidationTest, ASimulatorThatIsRightHasNoError) {
  const Validation validation = Validate({{RunIt("a"), RunIt("b")}});
  EXPECT_EQ(validation.pairs.size(), 15U);
  ASSERT_EQ(validation.policies.size(), 3U);
  for (const PolicyErrors& policy : validation.policies) {
    EXPECT_EQ(policy.trials, 5);
    EXPECT_EQ(policy.alike, 5);
    for (const Estimate& error : policy.error) EXPECT_EQ(error.value, 0);
  }
  ASSERT_TRUE(validation.by_makespan && validation.by_turnaround);
  EXPECT_EQ(validation.by_makespan->tau.value, 1);
  EXPECT_EQ(validation.by_turnaround->winner_agrees, 5);
  EXPECT_EQ(validation.by_turnaround->regret.value, 0);
  EXPECT_EQ(validation.by_makespan->tau.samples, 5);
}

// All jobs arrive at once and take 10 % longer: so does everything, whatever the policy, and
// throughput is less by as much.
TEST_F(ValidationTest, ErrorsAreSimulatedOverMeasured) {
  const std::vector<std::string> at_once = {"trace.gap.mean_s=0"};
  const std::vector<std::string> slower = {"trace.gap.mean_s=0", "workload.0.steps=33"};
  const Validation validation = Validate({{RunIt("a", at_once), RunIt("b", slower)}});
  for (const PolicyErrors& policy : validation.policies) {
    for (size_t i = 0; i < kMetrics.size(); ++i) {
      const double expected = std::string(kMetrics[i].name) == "throughput" ? 1 / 1.1 - 1 : 0.1;
      EXPECT_NEAR(policy.error[i].value, expected, 1e-4) << policy.policy << kMetrics[i].name;
      EXPECT_NEAR(validation.absolute_error[i].value, std::abs(expected), 1e-4);
    }
  }
  const std::string table = ValidationTable(validation);
  EXPECT_NE(table.find("strict malleable"), std::string::npos) << table;
  EXPECT_NE(table.find("+10.0 [+10.0 +10.0]"), std::string::npos) << table;
  EXPECT_NE(table.find("saturated in both worlds: 15 of 15"), std::string::npos) << table;
}

// By hand: two jobs of 30 steps of 10 ms on 1 core; the second comes while the first runs.
TEST_F(ValidationTest, OutcomesByHand) {
  WriteText(folder_.path() / "t.csv", "arrival_s,workload\n0,lenet5\n0.1,lenet5\n");
  const auto run = RunIt("a", {"trace={file='t.csv'}", "workload.0.cores={min=1,preferred=1,max=1}",
                               "machine.cores=1", "policies=['strict']", "trials=1"});
  const CellOutcome cell = ReadOutcome(run, {.policy = "strict"});
  EXPECT_EQ(cell.problem, "");
  EXPECT_NEAR(cell.outcome.makespan_s, 0.6, 1e-3);
  EXPECT_NEAR(cell.outcome.turnaround_s, (0.3 + 0.5) / 2, 1e-3);
  EXPECT_NEAR(cell.outcome.p95_turnaround_s, 0.5, 1e-3);  // By nearest rank, as in summary.csv.
  EXPECT_NEAR(cell.outcome.jobs_per_hour, 2 * 3600 / 0.6, 20);
  EXPECT_NEAR(cell.outcome.core_seconds, 0.6, 1e-3);
  EXPECT_TRUE(cell.saturated) << "0.6 core-seconds came within 0.1 s";
}

TEST_F(ValidationTest, CellsWithoutAnOutcomeAreToldApartFromErrors) {
  const auto measured = RunIt("a");
  script_.fails = 2;
  const Validation validation = Validate({{measured, RunIt("b")}});
  EXPECT_TRUE(validation.policies.empty());
  EXPECT_FALSE(validation.by_makespan.has_value());
  const std::string table = ValidationTable(validation);
  EXPECT_NE(table.find("NOT COMPARED, only one side has an outcome: strict/malleable/1: measured: "
                       "done; simulated: 1 of 6 jobs did not finish"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("no ranking"), std::string::npos) << table;
}

TEST_F(ValidationTest, MarksOfBothWorldsAreToldWithTheirCells) {
  const auto run = RunIt("a", {"policies=['strict']", "trials=1"});
  Validation validation = Validate({{run, run}});
  validation.pairs[0].measured.marks = {"beside a browser"};
  validation.pairs[0].simulated.marks = {"rests on extrapolation"};
  const std::string table = ValidationTable(validation);
  EXPECT_NE(table.find("MARKED: measured: beside a browser (1 of 1 cells)"), std::string::npos);
  EXPECT_NE(table.find("MARKED: simulated: rests on extrapolation (1 of 1"), std::string::npos);
}

TEST_F(ValidationTest, OnlyTrialsThatHaveAllPoliciesAreRanked) {
  const auto measured = RunIt("a");
  const auto simulated = RunIt("b");
  std::filesystem::remove_all(simulated / "strict" / "malleable" / "3");
  const Validation validation = Validate({{measured, simulated}});
  EXPECT_EQ(validation.pairs.size(), 14U);
  EXPECT_EQ(validation.by_makespan->tau.samples, 4);
  const std::string table = ValidationTable(validation);
  EXPECT_NE(table.find("FEW TRACES: the range of 4 holds the true median with 87.5 %"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("can tell no two policies apart: that takes 6 traces"), std::string::npos)
      << table;
}

// Two traces in which all policies are wrong alike, one by 10 %, one by 30 %: the interval reaches
// from the one to the other however many policies there are.
TEST_F(ValidationTest, ErrorsAreThoseOfWholeTraces) {
  const auto run = RunIt("a", {"trials=2"});
  Validation validation = Validate({{run, run}});
  for (CellPair& pair : validation.pairs)
    pair.simulated.outcome.makespan_s =
        pair.measured.outcome.makespan_s * (pair.key.trial == 1 ? 1.1 : 1.3);
  SumUp(&validation);
  EXPECT_NEAR(validation.absolute_error[0].value, 0.2, 1e-9);
  EXPECT_NEAR(validation.absolute_error[0].low, 0.1, 1e-9);
  EXPECT_NEAR(validation.absolute_error[0].high, 0.3, 1e-9);
  EXPECT_EQ(validation.absolute_error[0].samples, 2);
  EXPECT_NE(ValidationTable(validation).find("20.0 [10.0 30.0]"), std::string::npos);
}

TEST_F(ValidationTest, OneTraceHasNoInterval) {
  const auto run = RunIt("a", {"trials=1"});
  const std::string table = ValidationTable(Validate({{run, run}}));
  EXPECT_EQ(table.find("+0.0 ["), std::string::npos) << table;
  EXPECT_NE(table.find("FEW TRACES: 1 has no interval"), std::string::npos) << table;
}

TEST_F(ValidationTest, SeveralExperimentsAreMoreTrials) {
  const auto a = RunIt("a"), b = RunIt("b", {"seed=9"});
  const Validation validation = Validate({{a, a}, {b, b}});
  EXPECT_EQ(validation.by_makespan->tau.samples, 10);
  EXPECT_EQ(validation.policies.front().trials, 10);
}

TEST_F(ValidationTest, RunsWithoutACommonCellAreRefused) {
  const auto a = RunIt("a", {"policies=['strict']"}), b = RunIt("b", {"policies=['max-prop']"});
  EXPECT_THROW(Validate({{a, b}}), InputError);
}

TEST_F(ValidationTest, TheJsonHasWhatThePlotDraws) {
  const auto run = RunIt("a");
  const nlohmann::ordered_json json = ValidationJson(Validate({{run, run}}));
  EXPECT_EQ(json["cells"].size(), 15U);
  EXPECT_GT(json["cells"][0]["measured"]["makespan"].get<double>(), 0);
  EXPECT_EQ(json["absolute_error"]["turnaround"]["value"], 0);
  EXPECT_EQ(json["by_makespan"]["tau"]["value"], 1);
  EXPECT_NEAR(json["by_makespan"]["tau"]["level"].get<double>(), 0.9375, 1e-12);
}

}  // namespace
}  // namespace cosched
