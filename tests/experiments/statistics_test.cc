#include "experiments/statistics.h"

#include <gtest/gtest.h>

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

TEST(StatisticsTest, IntervalHoldsTheMedianAndIsTheSameEveryTime) {
  const std::vector<double> values = {9, 1, 5, 6, 4, 7, 3, 5, 8, 2};
  const Interval interval = MedianInterval(values);
  EXPECT_LT(interval.low, Median(values));
  EXPECT_GT(interval.high, Median(values));
  EXPECT_GE(interval.low, 1);
  EXPECT_LE(interval.high, 9);
  EXPECT_EQ(interval.low, MedianInterval(values).low);
  EXPECT_EQ(interval.high, MedianInterval(values).high);
}

TEST(StatisticsTest, IntervalOfThreeValuesIsTheirRange) {
  EXPECT_EQ(MedianInterval({1, 2, 4}).low, 1);
  EXPECT_EQ(MedianInterval({1, 2, 4}).high, 4);
  EXPECT_EQ(MedianInterval({5}).low, 5);
  EXPECT_EQ(MedianInterval({5}).high, 5);
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
