#include "engine/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace cosched {
namespace {

// xoshiro256** seeded by splitmix64, computed by an independent program: published seeds must give
// the same workloads on every machine and in every version.
TEST(RandomTest, SequenceIsFixed) {
  Random zero(0), other(42);
  for (uint64_t expected :
       {0x99ec5f36cb75f2b4u, 0xbf6e1f784956452au, 0x1a5f849d4933e6e0u, 0x6aa594f1262d2d2cu})
    EXPECT_EQ(zero.Next(), expected);
  for (uint64_t expected :
       {0x15780b2e0c2ec716u, 0x6104d9866d113a7eu, 0xae17533239e499a1u, 0xecb8ad4703b360a1u})
    EXPECT_EQ(other.Next(), expected);
}

TEST(RandomTest, DerivedDrawsAreFixed) {
  Random random(7);
  EXPECT_EQ(random.Normal(0, 1), 0x1.edc0d635eea0ep-1);
  EXPECT_EQ(random.Exponential(1), 0x1.d48ba50201e69p+0);
  EXPECT_EQ(random.Derive("arrivals").Next(), 0xb117d44928e68a73u);
}

TEST(RandomTest, DeriveDependsOnSeedAndTagOnly) {
  Random used(5);
  used.Next();
  EXPECT_EQ(used.Derive("a").Next(), Random(5).Derive("a").Next());
  EXPECT_NE(Random(5).Derive("a").Next(), Random(5).Derive("b").Next());
  EXPECT_NE(Random(5).Derive("a").Next(), Random(6).Derive("a").Next());
  EXPECT_NE(Random(5).Derive("").Next(), Random(5).Next());
}

TEST(RandomTest, UniformStaysInItsRange) {
  Random random(1);
  double sum = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.Uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    const double scaled = random.Uniform(-3, 5);
    ASSERT_GE(scaled, -3);
    ASSERT_LT(scaled, 5);
    const double tiny = random.Uniform(1, std::nextafter(1, 2));
    ASSERT_EQ(tiny, 1);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
}

TEST(RandomTest, BelowIsUniformAndInRange) {
  Random random(2);
  std::array<int, 6> counts{};
  constexpr int kDraws = 60000;
  constexpr int kEach = kDraws / 6;
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.Below(6));
  for (int count : counts) EXPECT_NEAR(count, kEach, 400);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(random.Below(1), 0u);
    EXPECT_LT(random.Below(UINT64_MAX), UINT64_MAX);
  }
}

TEST(RandomTest, NormalHasItsMoments) {
  Random random(3);
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double z = (random.Normal(10, 2) - 10) / 2;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(fourth / kDraws, 3, 0.1);
}

TEST(RandomTest, ExponentialHasItsMomentsAndTail) {
  Random random(4);
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0;
  int beyond = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.Exponential(3);
    ASSERT_GE(value, 0);
    sum += value;
    squares += value * value;
    if (value > 9) ++beyond;
  }
  EXPECT_NEAR(sum / kDraws, 3, 0.03);
  EXPECT_NEAR(squares / kDraws, 18, 0.5);
  EXPECT_NEAR(static_cast<double>(beyond) / kDraws, std::exp(-3), 0.002);
}

TEST(RandomDeathTest, BelowZeroIsABug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(Random(1).Below(0), "positive bound");
}

}  // namespace
}  // namespace cosched
