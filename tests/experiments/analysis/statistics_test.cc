#include "experiments/analysis/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cosched {
namespace {

TEST(StatisticsTest, MedianAndQuantiles) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Quantile({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_DOUBLE_EQ(Quantile({0, 10}, 0.975), 9.75);
  EXPECT_EQ(Mean({1, 2, 6}), 3);
}

// All of three values lie on one side of the median in 2 of 8 cases; of ten, at most one lies on
// one side in 2 x 11 of 1024, at most two in 2 x 56.
TEST(StatisticsTest, TheMediansIntervalSaysWhatItCovers) {
  const Interval three = MedianInterval({4, 1, 2});
  EXPECT_EQ(three.low, 1);
  EXPECT_EQ(three.high, 4);
  EXPECT_NEAR(three.level, 0.75, 1e-12);
  EXPECT_TRUE(three.range);
  const Interval ten = MedianInterval({9, 1, 5, 6, 4, 7, 3, 10, 8, 2});
  EXPECT_EQ(ten.low, 2);
  EXPECT_EQ(ten.high, 9);
  EXPECT_NEAR(ten.level, 1 - 22.0 / 1024, 1e-12);
  EXPECT_FALSE(ten.range);
  EXPECT_NEAR(MedianInterval({9, 1, 5, 6, 4, 7, 3, 10, 8, 2}, 0.85).level, 1 - 112.0 / 1024, 1e-12);
}

TEST(StatisticsTest, FewerThanSixValuesHaveNoIntervalOf95Percent) {
  constexpr double kLevels[] = {0, 0, 0.5, 0.75, 0.875, 0.9375, 0.96875};
  for (int n = 0; n <= 6; ++n) EXPECT_NEAR(MedianLevel(n), kLevels[n], 1e-12) << n;
  for (int n = 6; n <= 3000; n = n < 40 ? n + 1 : n + 370) {
    EXPECT_GE(MedianLevel(n), 0.95) << n;
    EXPECT_LE(MedianLevel(n), n < 400 ? 0.993 : 0.96) << n;
  }
}

TEST(StatisticsTest, OneValueOrNoneHasNoInterval) {
  EXPECT_EQ(MedianInterval({5}).low, 5);
  EXPECT_EQ(MedianInterval({5}).high, 5);
  EXPECT_EQ(MedianInterval({5}).level, 0);
  EXPECT_EQ(MedianInterval({}).level, 0);
}

// 2^-5000 is no double; the interval is that of the normal approximation all the same.
TEST(StatisticsTest, ThousandsOfValuesHaveANarrowIntervalNotNone) {
  std::vector<double> values;
  for (int i = 0; i < 5000; ++i) values.push_back(i);
  const Interval interval = MedianInterval(values);
  EXPECT_NEAR(interval.low, 2499.5 - 1.96 * std::sqrt(5000.0) / 2, 1.5);
  EXPECT_NEAR(interval.high, 2499.5 + 1.96 * std::sqrt(5000.0) / 2, 1.5);
  EXPECT_NEAR(interval.level, 0.95, 0.002);
}

// All signs of the ranks 1 to 5: 32; each tail holds the extreme one.
TEST(StatisticsTest, SignedRanksByHand) {
  const SignedRank five = SignedRankTest({1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(five.p, 2.0 / 32);
  EXPECT_DOUBLE_EQ(five.p, SmallestSignedRankP(5));
  EXPECT_EQ(five.effect, 1);
  EXPECT_EQ(five.positive, 5);
  // The negative sum is 1: {} and {1} are as far, in both tails.
  EXPECT_DOUBLE_EQ(SignedRankTest({-1, 2, 3, 4, 5}).p, 4.0 / 32);
  EXPECT_DOUBLE_EQ(SignedRankTest({-1, 2, 3, 4, 5}).effect, 13.0 / 15);
  EXPECT_DOUBLE_EQ(SignedRankTest({1, -2, -3, -4, -5}).effect, -13.0 / 15);
}

TEST(StatisticsTest, SignedRanksWithTiesAndZeros) {
  // Midranks 2 2 2: the sum is 6 or 0 in 2 of 8 cases.
  EXPECT_DOUBLE_EQ(SignedRankTest({1, 1, 1}).p, 0.25);
  // The zero has rank 1 and goes; ranks 2 and 3 remain: 4 signs, 2 as far.
  const SignedRank zero = SignedRankTest({0, 1, 2});
  EXPECT_DOUBLE_EQ(zero.p, 0.5);
  EXPECT_EQ(zero.zero, 1);
  EXPECT_EQ(zero.positive, 2);
  EXPECT_EQ(SignedRankTest({0, 0}).p, 1);
  EXPECT_EQ(SignedRankTest({}).p, 1);
}

TEST(StatisticsTest, ManySignedRanksAreNearlyNormal) {
  std::vector<double> differences;
  for (int i = 1; i <= 50; ++i) differences.push_back(i % 3 == 0 ? -i : i);
  const double exact = SignedRankTest(differences).p;
  differences.push_back(51 * (exact > 0.05 ? -1 : 1));
  EXPECT_LT(exact, 0.05);
  EXPECT_NEAR(SignedRankTest(differences).p, exact, 0.02);
}

// Holm (1979): the smallest p of three counts three times, the next twice, and none less than one
// before it.
TEST(StatisticsTest, HolmByHand) {
  EXPECT_EQ(HolmAdjusted({0.04, 0.01, 0.03}), (std::vector<double>{0.06, 0.03, 0.06}));
  EXPECT_EQ(HolmAdjusted({0.5, 0.9}), (std::vector<double>{1, 1}));
  EXPECT_EQ(HolmAdjusted({0.02}), (std::vector<double>{0.02}));
  EXPECT_TRUE(HolmAdjusted({}).empty());
}

// b is twice a, and a 3 x 3 Mann-Whitney test has 20 arrangements: the range misses 2 of them.
TEST(StatisticsTest, IndependentRatioOfFewIsTheRangeOfAllRatios) {
  const RatioEstimate estimate = IndependentRatio({1, 2, 4}, {2, 4, 8});
  EXPECT_DOUBLE_EQ(estimate.ratio, 2);
  EXPECT_DOUBLE_EQ(estimate.interval.low, 0.5);
  EXPECT_DOUBLE_EQ(estimate.interval.high, 8);
  EXPECT_NEAR(estimate.interval.level, 0.9, 1e-12);
  EXPECT_TRUE(estimate.interval.range);
  EXPECT_EQ(IndependentRatio({1}, {3}).interval.level, 0);
  EXPECT_DOUBLE_EQ(IndependentRatio({1}, {3}).ratio, 3);
}

// Published critical value of U for 5 + 5 values, two-sided 5 %: 2; P(U <= 2) is 4 of 252.
TEST(StatisticsTest, IndependentRatioLeavesOutWhatTheTestRejects) {
  const RatioEstimate estimate = IndependentRatio({1, 1, 1, 1, 1}, {10, 11, 12, 13, 14});
  EXPECT_DOUBLE_EQ(estimate.ratio, 12);
  EXPECT_FALSE(estimate.interval.range);
  EXPECT_NEAR(estimate.interval.level, 1 - 8.0 / 252, 1e-12);
}

TEST(StatisticsTest, IndependentRatioOfManyIsThatOfTheNormalApproximation) {
  std::vector<double> a, b;
  for (int i = 0; i < 100; ++i) {
    a.push_back(std::exp(i / 100.0));
    b.push_back(1.5 * std::exp(i / 100.0));
  }
  const RatioEstimate exact = IndependentRatio(a, b);
  a.push_back(std::exp(0.5));  // 10,100 ratios.
  const RatioEstimate normal = IndependentRatio(a, b);
  EXPECT_NEAR(normal.ratio, exact.ratio, 0.01);
  EXPECT_NEAR(normal.interval.low, exact.interval.low, 0.01);
  EXPECT_NEAR(normal.interval.high, exact.interval.high, 0.01);
  EXPECT_NEAR(normal.interval.level, 0.95, 0.001);
}

TEST(StatisticsTest, WhatTrialsCanShow) {
  EXPECT_FALSE(DetectableDifference(0.1, 5, 0.05)) << "2 / 32 is above 0.05";
  const auto six = DetectableDifference(0.1, 6, 0.05), forty = DetectableDifference(0.1, 40, 0.05);
  ASSERT_TRUE(six && forty);
  EXPECT_GT(*six, *forty);
  EXPECT_EQ(TrialsNeeded(0, 0.05, 0.05), 6);
  EXPECT_EQ(TrialsNeeded(0, 0.05, 0.01), 8);
  const int needed = TrialsNeeded(0.1, 0.05, 0.05);
  EXPECT_LE(*DetectableDifference(0.1, needed, 0.05), 0.0501);
  EXPECT_GT(*DetectableDifference(0.1, needed - 1, 0.05), 0.05);
}

// Published tables: with 3 + 3 values fully apart, p = 2/20; 4 + 4, 2/70.
TEST(StatisticsTest, MannWhitneyIsExactForSmallSamples) {
  EXPECT_DOUBLE_EQ(MannWhitneyU({1, 2, 3}, {4, 5, 6}).p, 0.1);
  EXPECT_EQ(MannWhitneyU({1, 2, 3}, {4, 5, 6}).u, 0);
  EXPECT_EQ(MannWhitneyU({4, 5, 6}, {1, 2, 3}).u, 9);
  EXPECT_DOUBLE_EQ(MannWhitneyU({1, 2, 3, 4}, {5, 6, 7, 8}).p, 2.0 / 70);
  // U = 2 of 9: 1, 1, 2 ways to U = 0, 1, 2 in each tail, of 20.
  EXPECT_DOUBLE_EQ(MannWhitneyU({1, 2, 5}, {3, 4, 6}).p, 0.4);
}

TEST(StatisticsTest, MannWhitneyCountsTiesAsHalf) {
  EXPECT_EQ(MannWhitneyU({1, 1}, {1, 1}).u, 2);
  EXPECT_DOUBLE_EQ(MannWhitneyU({1, 1}, {1, 1}).p, 1);
  // Midranks 1.5 1.5 3 | 4 5 6: still the extreme assignment, and its mirror image: 2 of 20.
  EXPECT_DOUBLE_EQ(MannWhitneyU({1, 1, 2}, {3, 4, 5}).p, 0.1);
}

TEST(StatisticsTest, MannWhitneyOfNothingSaysNothing) { EXPECT_EQ(MannWhitneyU({}, {1, 2}).p, 1); }

TEST(StatisticsTest, NormalApproximationAgreesWithTheExactTest) {
  std::vector<double> a, b;
  for (int i = 0; i < 25; ++i) {
    a.push_back(i);
    b.push_back(i + 6.5);
  }
  const double exact = MannWhitneyU(a, b).p;
  b.push_back(18.5);  // 51 values: one too many for the exact test, and in the middle.
  EXPECT_NEAR(MannWhitneyU(a, b).p, exact, 0.01);
  EXPECT_LT(exact, 0.05);
}

TEST(StatisticsTest, CliffsDeltaIsTheBalanceOfPairs) {
  EXPECT_EQ(CliffsDelta({4, 5}, {1, 2}), 1);
  EXPECT_EQ(CliffsDelta({1, 2}, {4, 5}), -1);
  EXPECT_EQ(CliffsDelta({1, 2}, {1, 2}), 0);
  EXPECT_EQ(CliffsDelta({}, {1}), 0);
}

TEST(StatisticsTest, JainIndexRunsFromOneNthToOne) {
  EXPECT_EQ(JainIndex(0, 0, 0), 1);
  EXPECT_EQ(JainIndex(0, 0, 3), 1);
  EXPECT_EQ(JainIndex(6, 12, 3), 1);
  EXPECT_EQ(JainIndex(1, 1, 4), 0.25);
  EXPECT_DOUBLE_EQ(JainIndex(3, 5, 2), 0.9);
}

}  // namespace
}  // namespace cosched
