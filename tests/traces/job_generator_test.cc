// Generated traces: equal seeds, equal traces; gaps follow their distribution; workloads their
// weights.

#include "traces/job_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr int kMany = 20'000;
const std::vector<WeightedWorkload> kOne = {{"a", 1}};

std::vector<double> Gaps(const Distribution& gap, int jobs = kMany) {
  const JobTrace trace = GenerateTrace(jobs, gap, kOne, Random(7));
  std::vector<double> gaps;
  for (size_t i = 1; i < trace.size(); ++i)
    gaps.push_back(ToSeconds(trace[i].time - trace[i - 1].time));
  return gaps;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Deviation(const std::vector<double>& values) {
  const double mean = Mean(values);
  double sum = 0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(GenerateTrace, FirstArrivesAtZeroAndTimeNeverGoesBack) {
  for (auto kind : {Distribution::Kind::kFixed, Distribution::Kind::kNormal,
                    Distribution::Kind::kExponential}) {
    const JobTrace trace =
        GenerateTrace(100, {.kind = kind, .mean = 1.0, .sd = 2.0}, kOne, Random(3));
    ASSERT_EQ(trace.size(), 100U);
    EXPECT_EQ(trace.Time(0), Duration::zero());
    EXPECT_TRUE(
        std::is_sorted(trace.begin(), trace.end(),
                       [](const JobArrival& a, const JobArrival& b) { return a.time < b.time; }));
  }
}

TEST(GenerateTrace, GapsFollowTheirDistribution) {
  for (double gap : Gaps({.kind = Distribution::Kind::kFixed, .mean = 0.25}))
    EXPECT_NEAR(gap, 0.25, 1e-8);
  const std::vector<double> normal =
      Gaps({.kind = Distribution::Kind::kNormal, .mean = 2.0, .sd = 0.4});
  EXPECT_NEAR(Mean(normal), 2.0, 0.02);
  EXPECT_NEAR(Deviation(normal), 0.4, 0.02);
  const std::vector<double> exponential =
      Gaps({.kind = Distribution::Kind::kExponential, .mean = 2.0});
  EXPECT_NEAR(Mean(exponential), 2.0, 0.06);
  EXPECT_NEAR(Deviation(exponential), 2.0, 0.1);
}

TEST(GenerateTrace, NormalIsTruncatedAtZeroNotPiledUpThere) {
  const std::vector<double> gaps =
      Gaps({.kind = Distribution::Kind::kNormal, .mean = 0.0, .sd = 1.0});
  EXPECT_GE(*std::min_element(gaps.begin(), gaps.end()), 0);
  EXPECT_LT(std::count(gaps.begin(), gaps.end(), 0.0), 5);
  EXPECT_NEAR(Mean(gaps), std::sqrt(2 / M_PI), 0.02);  // A half-normal's mean.
}

TEST(GenerateTrace, WorkloadsFollowTheirWeights) {
  std::map<std::string, int> counts;
  for (const JobArrival& arrival :
       GenerateTrace(kMany, {}, {{"a", 3}, {"b", 0}, {"c", 1}, {"d", 0}}, Random(1))) {
    ++counts[arrival.workload];
  }
  EXPECT_EQ(counts.count("b") + counts.count("d"), 0U);
  EXPECT_NEAR(counts["a"], 0.75 * kMany, 0.02 * kMany);
}

TEST(GenerateTrace, SeedDecidesAndTheMixDoesNotMoveTheTimes) {
  const JobTrace once = GenerateTrace(50, {}, kOne, Random(5));
  const JobTrace again = GenerateTrace(50, {}, {{"x", 1}, {"y", 5}}, Random(5));
  const JobTrace other = GenerateTrace(50, {}, kOne, Random(6));
  bool differs = false;
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].time, again[i].time);
    differs = differs || once[i].time != other[i].time;
  }
  EXPECT_TRUE(differs);
}

TEST(GenerateTrace, TooLongATraceIsRefused) {
  EXPECT_THROW(GenerateTrace(3, {.kind = Distribution::Kind::kFixed, .mean = 5e9}, kOne, Random(1)),
               InputError);
}

}  // namespace
}  // namespace cosched
