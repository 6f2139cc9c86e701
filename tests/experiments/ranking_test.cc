#include "experiments/ranking.h"

#include <gtest/gtest.h>

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

// Three policies with clear differences in every trial: everything agrees, and the hardware can
// tell all pairs apart.
TEST(CompareRankings, AgreementThatNoDrawOfTrialsChanges) {
  const CostTable measured = {{10, 12, 15}, {20, 23, 31}, {9, 11, 14}};
  const CostTable simulated = {{11, 12, 16}, {19, 24, 30}, {10, 11, 15}};
  const RankingAgreement result = CompareRankings(measured, simulated);
  EXPECT_EQ(result.tau.value, 1);
  EXPECT_EQ(result.tau.low, 1);
  EXPECT_EQ(result.winner.value, 1);
  EXPECT_EQ(result.regret.high, 0);
  EXPECT_EQ(result.pairs, 3);
  EXPECT_EQ(result.told_apart, 3);
  EXPECT_EQ(result.ordered_alike, 3);
  EXPECT_FALSE(result.MeasuredCannotTell(0.8));
}

TEST(CompareRankings, ASimulatorThatIsWrongIsSaidToBe) {
  const CostTable measured = {{10, 12, 15}, {20, 23, 31}, {9, 11, 14}};
  const CostTable simulated = {{15, 12, 10}, {31, 23, 20}, {14, 11, 9}};
  const RankingAgreement result = CompareRankings(measured, simulated);
  EXPECT_EQ(result.tau.value, -1);
  EXPECT_EQ(result.winner.value, 0);
  EXPECT_NEAR(result.regret.value, (0.5 + 31.0 / 20 - 1 + 14.0 / 9 - 1) / 3, 1e-12);
  EXPECT_EQ(result.told_apart, 3);
  EXPECT_EQ(result.ordered_alike, 0);
  EXPECT_FALSE(result.MeasuredCannotTell(0.8));
}

// Which is better changes from trial to trial: no ranking can be expected to come out.
TEST(CompareRankings, PoliciesThatTheHardwareCannotTellApart) {
  const CostTable measured = {{10, 11}, {11, 10}, {10, 11}, {11, 10}};
  const CostTable simulated = {{10, 11}, {10, 11}, {10, 11}, {10, 11}};
  const RankingAgreement result = CompareRankings(measured, simulated);
  EXPECT_EQ(result.told_apart, 0);
  EXPECT_TRUE(result.MeasuredCannotTell(0.8));
  EXPECT_DOUBLE_EQ(result.winner.value, 0.5);
  EXPECT_LT(result.winner.low, result.winner.high);
  EXPECT_NEAR(result.regret.value, 0.05, 1e-12);
}

TEST(OverTrials, TheIntervalIsThatOfTheDraws) {
  const std::vector<double> values = {1, 2, 3, 4};
  const auto mean = [&values](const std::vector<int>& drawn) {
    double sum = 0;
    for (int trial : drawn) sum += values[static_cast<size_t>(trial)];
    return sum / static_cast<double>(drawn.size());
  };
  const Estimate estimate = OverTrials(4, mean);
  EXPECT_DOUBLE_EQ(estimate.value, 2.5);
  // The standard deviation of such means is sqrt(1.25 / 4) = 0.56.
  EXPECT_NEAR(estimate.high - estimate.low, 2 * 1.96 * 0.56, 0.4);
  EXPECT_EQ(OverTrials(4, mean).low, estimate.low) << "equal draws each time";
}

}  // namespace
}  // namespace cosched
