#include "workloads/fit_scaling_law.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cosched {
namespace {

using Kind = ScalingLaw::Kind;

std::vector<SpeedUpPoint> PointsOf(const ScalingLaw& law, const std::vector<double>& cores) {
  std::vector<SpeedUpPoint> points;
  for (double k : cores) points.push_back({k, law.SpeedUp(k)});
  return points;
}

// What was made by a law is found again, parameters too.
TEST(FitScalingLaw, FindsTheLawThatMadeThePoints) {
  const ScalingLaw laws[] = {{Kind::kAmdahl, {0.08}, {}},
                             {Kind::kUniversalScalability, {0.05, 0.002}, {}},
                             {Kind::kDowney, {12, 0.7}, {}}};
  for (const ScalingLaw& law : laws) {
    const auto points = PointsOf(law, {1, 2, 3, 4, 6, 8, 12, 16, 24, 32});
    const ScalingLaw fitted = FitScalingLaw(points);
    EXPECT_EQ(ToString(fitted.kind), ToString(law.kind));
    ASSERT_EQ(fitted.parameters.size(), law.parameters.size());
    for (size_t i = 0; i < law.parameters.size(); ++i)
      EXPECT_NEAR(fitted.parameters[i], law.parameters[i], 0.01 * law.parameters[i]);
    ASSERT_TRUE(fitted.error.has_value());
    EXPECT_LT(*fitted.error, 1e-3);
  }
}

TEST(FitScalingLaw, OnePointDeterminesAmdahlAndLeavesTheErrorUnknown) {
  // 1 / (s + (1 - s) / 2) = 1.6: s = 0.25.
  const ScalingLaw fitted = FitScalingLaw({{1, 1}, {2, 1.6}});
  EXPECT_EQ(fitted.kind, Kind::kAmdahl);
  EXPECT_NEAR(fitted.parameters[0], 0.25, 1e-6);
  EXPECT_FALSE(fitted.error.has_value());
}

TEST(FitScalingLaw, WithNothingMeasuredBeyondOneCoreNothingIsKnown) {
  for (const auto& points : {std::vector<SpeedUpPoint>{}, std::vector<SpeedUpPoint>{{1, 1}}}) {
    const ScalingLaw fitted = FitScalingLaw(points);
    EXPECT_EQ(fitted.kind, Kind::kAmdahl);
    EXPECT_EQ(fitted.parameters, std::vector<double>{0.0});
    EXPECT_FALSE(fitted.error.has_value());
  }
}

// Faster than its cores: the parameters stay within their bounds, so the law says k.
TEST(FitScalingLaw, SuperlinearPointsAreMetAsFarAsALawCan) {
  const ScalingLaw fitted = FitScalingLaw({{2, 2.2}, {4, 4.6}});
  EXPECT_NEAR(fitted.SpeedUp(2), 2, 0.02);
  EXPECT_LE(fitted.SpeedUp(4), 4);
}

// Leave-one-out by hand for Amdahl and two points: each is predicted by the serial part that the
// other one gives, and no other law can be left one out of two.
TEST(FitScalingLaw, TheErrorIsThatOfTheLeftOutPoints) {
  const ScalingLaw fitted = FitScalingLaw({{2, 1.6}, {4, 2.5}});
  const double from_two = 0.25, from_four = (4 / 2.5 - 1) / 3;
  const double error_four = std::abs(4 / (1 + from_two * 3) / 2.5 - 1);
  const double error_two = std::abs(2 / (1 + from_four) / 1.6 - 1);
  ASSERT_TRUE(fitted.error.has_value());
  EXPECT_NEAR(*fitted.error, (error_two + error_four) / 2, 1e-6);
}

// Log errors: 10 % too fast on 2 cores weighs as much as 10 % too slow on 64.
TEST(FitScalingLaw, ErrorsCountByTheirRatio) {
  const ScalingLaw truth{Kind::kAmdahl, {0.05}, {}};
  const ScalingLaw fitted =
      FitScalingLaw(Kind::kAmdahl, {{64, truth.SpeedUp(64) * 1.1}, {64, truth.SpeedUp(64) / 1.1}});
  EXPECT_NEAR(fitted.SpeedUp(64), truth.SpeedUp(64), 1e-3);
}

}  // namespace
}  // namespace cosched
