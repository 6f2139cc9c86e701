// Phases of load: constant gaps fall where arithmetic says, Poisson ones as often as the rates say,
// and what is left of a gap goes on at the next phase's rate.

#include "traces/generators/load_phases.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cosched {
namespace {

using std::chrono::seconds;

constexpr Distribution kFixed = {.kind = Distribution::Kind::kFixed, .mean = 1};
constexpr Distribution kExponential = {.kind = Distribution::Kind::kExponential, .mean = 1};

TEST(LoadPhases, ConstantGapsAreOneOverTheRate) {
  const std::vector<LoadPhase> phases = {{seconds(2), 2}, {seconds(1), 4, 3}};
  EXPECT_DOUBLE_EQ(ExpectedArrivals(phases), 8);
  const std::vector<PhaseArrival> arrivals = DrawPhases(phases, kFixed, Random(1));
  std::vector<double> times, work;
  for (const PhaseArrival& arrival : arrivals) {
    times.push_back(ToSeconds(arrival.time));
    work.push_back(arrival.work);
  }
  EXPECT_EQ(times, (std::vector<double>{0.5, 1, 1.5, 2, 2.25, 2.5, 2.75, 3}));
  EXPECT_EQ(work, (std::vector<double>{1, 1, 1, 1, 3, 3, 3, 3}));
}

TEST(LoadPhases, AGapGoesOnAtTheNextRateAndThroughASilence) {
  // Half a gap is over after 1 s; the other half takes 1/8 s at the rate of the third phase.
  const std::vector<PhaseArrival> arrivals =
      DrawPhases({{seconds(1), 0.5}, {seconds(5), 0}, {seconds(1), 4}}, kFixed, Random(1));
  ASSERT_EQ(arrivals.size(), 4U);
  EXPECT_DOUBLE_EQ(ToSeconds(arrivals[0].time), 6.125);
  EXPECT_DOUBLE_EQ(ToSeconds(arrivals[3].time), 6.875);
}

TEST(LoadPhases, TheMeanOfTheGapIsNoMatter) {
  const std::vector<LoadPhase> phases = {{seconds(3), 7}, {seconds(2), 1}};
  const auto times = [&](double mean) {
    std::vector<int64_t> all;
    for (const PhaseArrival& arrival :
         DrawPhases(phases, {.kind = Distribution::Kind::kFixed, .mean = mean}, Random(3)))
      all.push_back(arrival.time.count());
    return all;
  };
  EXPECT_EQ(times(1), times(64));
}

// Counts of disjoint phases are independent Poisson variables: mean = variance = rate x length.
TEST(LoadPhases, ExponentialGapsMakeAPoissonProcess) {
  const std::vector<LoadPhase> phases = {{seconds(4), 5}, {seconds(2), 50}, {seconds(4), 5}};
  constexpr int kTrials = 4000;
  std::vector<double> sums(3), squares(3);
  double product = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> counts(3);
    for (const PhaseArrival& arrival :
         DrawPhases(phases, kExponential, Random(7).Derive(std::to_string(trial))))
      ++counts[arrival.time < seconds(4) ? 0 : arrival.time < seconds(6) ? 1 : 2];
    for (size_t i = 0; i < 3; ++i) {
      sums[i] += counts[i];
      squares[i] += counts[i] * counts[i];
    }
    product += counts[0] * counts[1];
  }
  for (size_t i = 0; i < 3; ++i) {
    const double expected = ToSeconds(phases[i].length) * phases[i].rate_per_s;
    const double mean = sums[i] / kTrials, variance = squares[i] / kTrials - mean * mean;
    EXPECT_NEAR(mean, expected, 5 * std::sqrt(expected / kTrials)) << i;
    EXPECT_NEAR(variance / expected, 1, 5 * std::sqrt(2.0 / kTrials)) << i;
  }
  const double covariance = product / kTrials - sums[0] / kTrials * sums[1] / kTrials;
  EXPECT_NEAR(covariance / std::sqrt(20.0 * 100), 0, 5 / std::sqrt(kTrials));
}

TEST(LoadPhases, EqualSeedsGiveEqualArrivals) {
  const std::vector<LoadPhase> phases = {{seconds(10), 20}};
  const auto first = DrawPhases(phases, kExponential, Random(5));
  const auto second = DrawPhases(phases, kExponential, Random(5));
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].time, second[i].time);
  EXPECT_NE(DrawPhases(phases, kExponential, Random(6)).front().time, first.front().time);
}

}  // namespace
}  // namespace cosched
