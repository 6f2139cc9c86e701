#include "experiments/analysis/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace cosched {
namespace {

TEST(KendallTau, ByHand) {
  EXPECT_DOUBLE_EQ(KendallTau({1, 2, 3, 4}, {10, 20, 30, 40}), 1);
  EXPECT_DOUBLE_EQ(KendallTau({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  // One of six pairs is the other way round: (5 - 1) / 6.
  EXPECT_DOUBLE_EQ(KendallTau({1, 2, 3, 4}, {1, 2, 4, 3}), 4.0 / 6);
  // a ties one of three pairs; the other two agree: 2 / sqrt(2 x 3).
  EXPECT_DOUBLE_EQ(KendallTau({1, 1, 2}, {1, 2, 3}), 2 / std::sqrt(6.0));
  EXPECT_EQ(KendallTau({1, 1, 1}, {1, 2, 3}), 0);
  EXPECT_EQ(KendallTau({1}, {2}), 1);
}

TEST(WinnerAgrees, TiesForTheBestAgreeWithEachOfThem) {
  EXPECT_TRUE(WinnerAgrees({3, 1, 2}, {9, 7, 8}));
  EXPECT_FALSE(WinnerAgrees({3, 1, 2}, {9, 8, 7}));
  EXPECT_TRUE(WinnerAgrees({1, 1, 2}, {8, 7, 9}));
}

TEST(Regret, IsTheExtraCostOfTheChoice) {
  EXPECT_DOUBLE_EQ(Regret({10, 12, 20}, {1, 2, 3}), 0);
  EXPECT_DOUBLE_EQ(Regret({10, 12, 20}, {2, 1, 3}), 0.2);
  EXPECT_DOUBLE_EQ(Regret({10, 12, 20}, {2, 1, 1}), 1.0) << "of equal choices the worst";
}

// Three policies with clear differences in each of six traces, whose length differs by far more.
const CostTable kMeasured = {{10, 12, 15}, {20, 23, 31}, {9, 11, 14},
                             {40, 45, 60}, {5, 6, 8},    {30, 33, 41}};

CostTable Backwards(CostTable costs) {
  for (std::vector<double>& trace : costs) std::reverse(trace.begin(), trace.end());
  return costs;
}

TEST(CompareRankings, AgreementInEveryTrace) {
  const CostTable simulated = {{11, 12, 16}, {19, 24, 30}, {10, 11, 15},
                               {41, 44, 61}, {5, 7, 9},    {29, 34, 40}};
  const RankingAgreement result = CompareRankings(kMeasured, simulated);
  EXPECT_EQ(result.tau.value, 1);
  EXPECT_EQ(result.tau.low, 1);
  EXPECT_EQ(result.tau.samples, 6);
  EXPECT_EQ(result.tau_of_means, 1);
  EXPECT_EQ(result.winner_agrees, 6);
  EXPECT_EQ(result.regret.high, 0);
  EXPECT_EQ(result.pairs, 3);
  EXPECT_EQ(result.told_apart, 3);
  EXPECT_EQ(result.ordered_alike, 3);
  EXPECT_EQ(result.measured_tau, 1);
  EXPECT_FALSE(result.MeasuredCannotTell(0.8));
}

TEST(CompareRankings, ASimulatorThatIsWrongIsSaidToBe) {
  const RankingAgreement result = CompareRankings(kMeasured, Backwards(kMeasured));
  EXPECT_EQ(result.tau.value, -1);
  EXPECT_EQ(result.tau_of_means, -1);
  EXPECT_EQ(result.winner_agrees, 0);
  // The regrets of the traces are 0.5, 11/20, 5/9, 0.5, 0.6 and 11/30.
  EXPECT_NEAR(result.regret.value, (0.5 + 0.55) / 2, 1e-12);
  EXPECT_NEAR(result.regret.low, 11.0 / 30, 1e-12);
  EXPECT_NEAR(result.regret.high, 0.6, 1e-12);
  EXPECT_NEAR(result.mean_regret, (0.5 + 0.55 + 5.0 / 9 + 0.5 + 0.6 + 11.0 / 30) / 6, 1e-12);
  EXPECT_EQ(result.told_apart, 3);
  EXPECT_EQ(result.ordered_alike, 0);
  EXPECT_FALSE(result.MeasuredCannotTell(0.8));
}

// The simulator chooses the last: the hardware tells it from the first, not from the second.
TEST(CompareRankings, RegretCountsWhereTheHardwareTellsPoliciesApart) {
  const CostTable measured = {{10, 11, 12}, {20, 25, 24}, {9, 10, 11},
                              {40, 49, 48}, {5, 5.5, 6},  {30, 37, 36}};
  const CostTable simulated(6, {3, 2, 1});
  const RankingAgreement result = CompareRankings(measured, simulated);
  EXPECT_EQ(result.told_apart, 2);
  EXPECT_NEAR(result.told_regret, (0.2 + 0.2 + 2.0 / 9 + 0.2 + 0.2 + 0.2) / 6, 1e-12);
  EXPECT_EQ(result.no_answer, 0);
  // Among policies that nothing tells apart none is a wrong choice, but there is no answer either.
  const CostTable noise = {{10, 11}, {11, 10}, {10, 11}, {11, 10}, {10, 11}, {11, 10}};
  const RankingAgreement undecided = CompareRankings(noise, CostTable(6, {2, 1}));
  EXPECT_EQ(undecided.told_regret, 0);
  EXPECT_EQ(undecided.no_answer, 3);
  EXPECT_NEAR(undecided.mean_regret, 0.05, 1e-12);
}

// One in 16 true differences of this kind is chance: that is no 95 %.
TEST(CompareRankings, FiveTracesTellNoPoliciesApart) {
  CostTable five = kMeasured;
  five.pop_back();
  EXPECT_EQ(CompareRankings(five, five).told_apart, 0);
  EXPECT_EQ(CompareRankings(five, five).pairs, 3);
}

// Which is better changes from trace to trace: no ranking can be expected to come out.
TEST(CompareRankings, PoliciesThatTheHardwareCannotTellApart) {
  CostTable measured, simulated;
  for (int trace = 0; trace < 8; ++trace) {
    measured.push_back(trace % 2 == 0 ? std::vector<double>{10, 11} : std::vector<double>{11, 10});
    simulated.push_back({10, 11});
  }
  const RankingAgreement result = CompareRankings(measured, simulated);
  EXPECT_EQ(result.told_apart, 0);
  EXPECT_TRUE(result.MeasuredCannotTell(0.8));
  EXPECT_EQ(result.winner_agrees, 4);
  EXPECT_NEAR(result.regret.value, 0.05, 1e-12);
  EXPECT_EQ(result.regret.low, 0);
}

TEST(CompareRankings, OneTraceIsNotComparedWithItself) {
  const RankingAgreement result = CompareRankings({{10, 12}}, {{12, 10}});
  EXPECT_FALSE(result.measured_tau.has_value());
  EXPECT_FALSE(result.MeasuredCannotTell(0.8));
  EXPECT_EQ(result.tau.samples, 1);
}

TEST(CompareRankings, EqualInputGivesEqualOutput) {
  const CostTable noisy = {{10, 11, 12}, {12, 10, 11}, {11, 12, 10}, {10, 12, 11}, {11, 10, 12}};
  EXPECT_EQ(CompareRankings(noisy, noisy).measured_tau, CompareRankings(noisy, noisy).measured_tau);
}

}  // namespace
}  // namespace cosched
