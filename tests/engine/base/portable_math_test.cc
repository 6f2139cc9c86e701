// The portable functions against libm's, to a few units in the last place.

#include "engine/base/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/base/random.h"

namespace cosched {
namespace {

// The unit of 1.0; relative errors are in units of it.
constexpr double kUnit = std::numeric_limits<double>::epsilon();

TEST(PortableMath, LogIsThatOfLibm) {
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double x =
        std::ldexp(random.Uniform(0.5, 1), static_cast<int>(random.Below(2000)) - 1000);
    const double expected = std::log(x);
    ASSERT_NEAR(PortableLog(x), expected, 2 * kUnit * std::abs(expected)) << x;
  }
  EXPECT_EQ(PortableLog(1), 0);
}

TEST(PortableMath, Log2IsThatOfLibmAndExactForPowersOfTwo) {
  Random random(4);
  for (int i = 0; i < 100'000; ++i) {
    const double x = random.Uniform(1e-3, 1e4);
    ASSERT_NEAR(PortableLog2(x), std::log2(x), 3 * kUnit * std::max(1.0, std::abs(std::log2(x))))
        << x;
  }
  for (int exponent = -1000; exponent <= 1000; ++exponent)
    ASSERT_EQ(PortableLog2(std::ldexp(1, exponent)), exponent);
}

TEST(PortableMath, PowIsThatOfLibm) {
  Random random(5);
  for (int i = 0; i < 100'000; ++i) {
    const double x = random.Uniform(1e-6, 100), y = random.Uniform(-20, 20);
    const double expected = std::pow(x, y);
    const double units = 4 + 2 * std::abs(y * std::log(x));
    ASSERT_NEAR(PortablePow(x, y), expected, units * kUnit * expected) << x << "^" << y;
  }
  EXPECT_EQ(PortablePow(7, 0), 1);
}

TEST(PortableMath, ExpIsThatOfLibm) {
  Random random(2);
  for (int i = 0; i < 100'000; ++i) {
    const double x = random.Uniform(-700, 700);
    const double expected = std::exp(x);
    ASSERT_NEAR(PortableExp(x), expected, 2 * kUnit * expected) << x;
  }
  EXPECT_EQ(PortableExp(0), 1);
  EXPECT_EQ(PortableExp(-1000), 0);
  EXPECT_EQ(PortableExp(1000), std::numeric_limits<double>::infinity());
}

TEST(PortableMath, SineIsThatOfLibm) {
  Random random(3);
  for (int i = 0; i < 100'000; ++i) {
    const double turns = random.Uniform(-3, 3);
    ASSERT_NEAR(PortableSineOfTurns(turns), std::sin(2 * M_PI * turns), 1e-14) << turns;
  }
  EXPECT_EQ(PortableSineOfTurns(0.25), 1);
  EXPECT_EQ(PortableSineOfTurns(1e15 + 0.75), -1);
}

TEST(PortableMath, LogGammaIsThatOfLibm) {
  for (double x = 0.01; x < 200; x *= 1.07)
    ASSERT_NEAR(PortableLogGamma(x), std::lgamma(x), 1e-12 * std::max(1.0, std::lgamma(x))) << x;
}

}  // namespace
}  // namespace cosched
