// Gates on runs whose figures are known.

#include "experiments/analysis/gates.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "experiments/analysis/compared_sides.h"
#include "experiments/analysis/trials_look.h"
#include "tests/experiments/analysis/comparison_fixture.h"

namespace cosched {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPair = R"("strict", "fast")";

class GatesTest : public ComparisonTest {
 protected:
  // Eight trials, in each of which `fast` takes a little more than 0.8 of strict's time.
  void WritePair(int trials = 8) {
    WriteRatios("strict", Elasticity::kRigid, 1, trials);
    WriteRatios("fast", Elasticity::kRigid, 0.8, trials);
  }

  std::vector<JudgedGate> JudgeAll(const std::string& gates, int trials = 8,
                                   const std::string& more = "") {
    WriteManifest({.trials = trials,
                   .policies = kPair,
                   .experiment = fmt::format(R"(, "gate": [{}]{})", gates, more)});
    return JudgeGates(ReadComparison({Run()}, {}).sides.front().cells);
  }
  JudgedGate JudgeOne(const std::string& gate, int trials = 8, const std::string& more = "") {
    const std::vector<JudgedGate> judged = JudgeAll(gate, trials, more);
    EXPECT_EQ(judged.size(), 1);
    return judged.front();
  }
};

TEST_F(GatesTest, AnIntervalWithinTheLimitsHolds) {
  WritePair();
  const JudgedGate judged = JudgeOne(
      R"({"metric": "makespan", "policy": "fast", "against": "strict", "max": 0.9, "min": 0.7})");
  EXPECT_EQ(judged.verdict, GateVerdict::kHolds);
  EXPECT_TRUE(judged.passes);
  EXPECT_EQ(judged.trials, 8);
  EXPECT_NEAR(*judged.estimate, 0.8045, 1e-6);
  EXPECT_EQ(judged.what, "fast/rigid: makespan_s / that of strict 0.7 to 0.9");
}

TEST_F(GatesTest, AnIntervalBeyondALimitFails) {
  WritePair();
  for (const char* limit : {R"("max": 0.8)", R"("min": 0.81)"}) {
    const JudgedGate judged = JudgeOne(fmt::format(
        R"({{"metric": "makespan_s", "policy": "fast", "against": "strict", {}}})", limit));
    EXPECT_EQ(judged.verdict, GateVerdict::kFails) << limit;
    EXPECT_FALSE(judged.passes) << limit;
  }
}

TEST_F(GatesTest, WhereTheIntervalDoesNotDecideTheEstimateCounts) {
  WritePair();  // strict takes 5 to 320 s, the median is 102.5 s.
  const char* gate = R"({{"metric": "makespan_s", "policy": "strict", "max": {}}})";
  const JudgedGate above = JudgeOne(fmt::format(fmt::runtime(gate), 103));
  EXPECT_EQ(above.verdict, GateVerdict::kUndecided);
  EXPECT_TRUE(above.passes);
  EXPECT_THAT(above.reason, HasSubstr("beyond the limit"));
  const JudgedGate below = JudgeOne(fmt::format(fmt::runtime(gate), 102));
  EXPECT_EQ(below.verdict, GateVerdict::kUndecided);
  EXPECT_FALSE(below.passes);
}

TEST_F(GatesTest, FewTrialsDecideNothing) {
  WritePair(5);
  const JudgedGate judged =
      JudgeOne(R"({"metric": "makespan", "policy": "fast", "against": "strict", "max": 0.9})", 5);
  EXPECT_EQ(judged.verdict, GateVerdict::kUndecided);
  EXPECT_TRUE(judged.passes);
  EXPECT_EQ(judged.reason, "5 trials cannot decide");
}

TEST_F(GatesTest, SequentialTrialsNeedTheLevelOfTheirLooks) {
  WritePair(7);
  const std::string gate =
      R"({"metric": "makespan", "policy": "fast", "against": "strict", "max": 0.9})";
  EXPECT_EQ(JudgeOne(gate, 7).verdict, GateVerdict::kHolds);
  EXPECT_EQ(JudgeOne(gate, 7, R"(, "trials": "until makespan ± 2 %", "most_trials": 40)").verdict,
            GateVerdict::kUndecided);
}

TEST_F(GatesTest, WithoutDataAGateFailsAndSaysSo) {
  WritePair();
  const JudgedGate absent =
      JudgeOne(R"({"metric": "makespan_s", "policy": "equal-share", "max": 1e9})");
  EXPECT_FALSE(absent.passes);
  EXPECT_EQ(absent.reason, "equal-share has no cell");
  const JudgedGate none = JudgeOne(R"({"metric": "mean_slowdown", "policy": "fast", "max": 1e9})");
  EXPECT_FALSE(none.passes);
  EXPECT_EQ(none.reason, "no trial has a mean_slowdown");
  const JudgedGate service =
      JudgeOne(R"({"metric": "slo_attainment", "policy": "fast", "min": 0.9})");
  EXPECT_FALSE(service.passes);
}

TEST_F(GatesTest, NobodyPassesByLosingJobs) {
  WritePair();
  Write({"fast", Elasticity::kRigid, 3}, {.seconds = 1, .jobs = 2, .rejected = 1});
  const JudgedGate judged = JudgeOne(R"({"metric": "makespan_s", "policy": "fast", "max": 1e9})");
  EXPECT_FALSE(judged.passes);
  EXPECT_EQ(judged.reason, "1 of 8 trials lost 1 job");
  const JudgedGate lost = JudgeOne(R"({"metric": "lost", "policy": "fast", "max": 0})");
  EXPECT_TRUE(lost.passes) << "a count of jobs knows what to make of it";
  EXPECT_EQ(lost.trials, 8);
}

TEST_F(GatesTest, NobodyPassesByCellsThatFailed) {
  WritePair();
  Write({"fast", Elasticity::kRigid, 3}, {.status = "failed"});
  for (const char* metric : {"lost", "makespan_s"}) {
    const JudgedGate judged =
        JudgeOne(fmt::format(R"({{"metric": "{}", "policy": "fast", "max": 1e9}})", metric));
    EXPECT_FALSE(judged.passes) << metric;
    EXPECT_EQ(judged.reason, "1 cell failed");
  }
}

// As where --exclude-marked has taken all of its cells, or it was interrupted before the first.
TEST_F(GatesTest, AnElasticityWithoutACellFailsItsGate) {
  WritePair();
  WriteManifest({.trials = 8,
                 .policies = kPair,
                 .elasticity = R"("rigid", "malleable")",
                 .experiment = R"(, "gate": [{"metric": "makespan_s", "policy": "fast", )"
                               R"("max": 1e9}])"});
  const std::vector<JudgedGate> judged =
      JudgeGates(ReadComparison({Run()}, {}).sides.front().cells);
  ASSERT_EQ(judged.size(), 2U);
  EXPECT_EQ(judged[0].passes + judged[1].passes, 1);
  EXPECT_EQ(judged[judged[0].passes].reason, "fast has no cell");
}

TEST_F(GatesTest, TrialsInWhichTheBaseHasNothingCount) {
  for (int trial = 1; trial <= 8; ++trial) {
    Write({"strict", Elasticity::kRigid, trial}, {.jobs = 2, .rejected = trial <= 2});
    Write({"fast", Elasticity::kRigid, trial}, {.jobs = 2, .rejected = 1});
    Write({"same", Elasticity::kRigid, trial}, {.jobs = 2, .rejected = trial <= 2});
  }
  const auto judge = [this](const std::string& policy) {
    return JudgeOne(fmt::format(
        R"({{"metric": "lost", "policy": "{}", "against": "strict", "max": 1}})", policy));
  };
  const JudgedGate worse = judge("fast");
  EXPECT_EQ(worse.trials, 8);
  EXPECT_EQ(worse.verdict, GateVerdict::kUndecided) << "twice both lost one";
  EXPECT_FALSE(worse.passes);
  EXPECT_TRUE(GatesJson({worse})[0]["high"].is_null());
  EXPECT_THAT(GatesText({{"run", {worse}}}), HasSubstr("inf [1 inf], 8 trials"));
  EXPECT_EQ(judge("same").verdict, GateVerdict::kHolds);
}

TEST_F(GatesTest, JUnitHasACaseAGateWithItsTextEscaped) {
  WritePair();
  std::vector<JudgedGate> gates = JudgeAll(
      R"({"metric": "makespan_s", "policy": "fast", "max": 1e9},
         {"metric": "makespan_s", "policy": "strict", "max": 103},
         {"metric": "makespan_s", "policy": "fast", "max": 1})");
  gates.back().reason = "a < b & \"c\"";
  const std::string xml = JUnitText({{"run", gates}});
  EXPECT_THAT(xml, AllOf(HasSubstr(R"(<testsuite name="run" tests="3" failures="1" errors="0" )"
                                   R"(skipped="1">)"),
                         HasSubstr(R"(<testcase classname="run" name="fast/rigid: makespan_s at )"
                                   R"(most 1">)"),
                         HasSubstr("a &lt; b &amp; &quot;c&quot;"), Not(HasSubstr("a < b"))));
  EXPECT_TRUE(AnyGateFails({{"run", gates}}));
  EXPECT_FALSE(AnyGateFails({{"run", {gates[0], gates[1]}}}));
  EXPECT_EQ(GatesJson(gates)[1]["verdict"], "undecided");
}

TEST_F(GatesTest, TrialsAreEnoughOnceTheWidestRatioIsNarrow) {
  WritePair(12);
  WriteRatios("slow", Elasticity::kRigid, 1.2, 12);
  WriteManifest({.trials = 12, .policies = R"("strict", "fast", "slow")"});
  ExperimentConfig config;
  config.policies = {"strict", "fast", "slow"};
  config.baseline = "strict";
  config.elasticities = {Elasticity::kRigid};
  config.trials = 40;
  config.until = {"makespan", 0.01};
  // Ratios of 0.801 to 0.808: their range is ± 0.44 % of the median.
  const TrialsLook eight = LookAtTrials(Run(), config, 8);
  EXPECT_TRUE(eight.enough);
  EXPECT_NEAR(*eight.within, 0.0035 / 0.8045, 1e-6);
  EXPECT_EQ(eight.widest, "fast/rigid / strict");
  EXPECT_FALSE(LookAtTrials(Run(), config, 7).within) << "seven have no interval of 99 %";
  config.until->within = 0.001;
  EXPECT_FALSE(LookAtTrials(Run(), config, 12).enough);
  // Without a baseline it is about the makespans, of 5 to 720 s.
  config.baseline.clear();
  EXPECT_GT(*LookAtTrials(Run(), config, 12).within, 1);
}

TEST_F(GatesTest, ATrialThatWasNotNeededIsNotMissing) {
  WritePair(8);
  WriteManifest({.trials = 40,
                 .policies = kPair,
                 .more = R"(, "stopped": {"trials": 8, "within": 0.01, "widest": "fast/rigid"})",
                 .experiment = R"(, "trials": "until makespan ± 2 %", "most_trials": 40)"});
  const ComparisonReport report = CompareRuns({Run()}, {});
  EXPECT_FALSE(report.damaged) << report.text;
  EXPECT_THAT(Unwrapped(report.text),
              HasSubstr("TRIALS until makespan ± 2 %: stopped after 8 of at most 40, the widest is "
                        "± 1 % (fast/rigid)"));
}

}  // namespace
}  // namespace cosched
