// Every distribution against its closed forms: mean, coefficient of variation, and the whole curve
// by the test of Kolmogorov and Smirnov at fixed seeds. The bits of draws are fixed too.

#include "traces/generators/distribution.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <optional>

#include "tests/traces/generators/statistics.h"

namespace cosched {
namespace {

using Kind = Distribution::Kind;
constexpr int kDraws = 200'000;

std::vector<double> Draws(const Distribution& distribution, int count = kDraws, int seed = 11) {
  const Sampler sampler(distribution);
  Random random(static_cast<uint64_t>(seed));
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = sampler.Draw(random);
  return values;
}

// P(X <= x) of a gamma of shape k and scale 1: the series of the incomplete gamma function.
double GammaCdf(double k, double x) {
  if (x <= 0) return 0;
  double term = 1 / k;
  double sum = term;
  for (int n = 1; n < 10'000 && term > 1e-17 * sum; ++n) sum += term *= x / (k + n);
  return std::min(1.0, sum * std::exp(k * std::log(x) - x - std::lgamma(k)));
}

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double NormalDensity(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }

struct ClosedForm {
  const char* what;
  Distribution distribution;
  double mean;
  std::optional<double> cv;  // None where the draws' own would not settle.
  std::function<double(double)> cdf;
};

std::vector<ClosedForm> ClosedForms() {
  std::vector<ClosedForm> forms;
  forms.push_back({"exponential", {.kind = Kind::kExponential, .mean = 2}, 2, 1, [](double x) {
                     return -std::expm1(-x / 2);
                   }});
  // Normal(1, 0.8) above 0: a = -1.25 deviations, tail 1 - Phi(a), hazard h = phi(a) / tail.
  const double a = -1.25, hazard = NormalDensity(a) / (1 - NormalCdf(a));
  const double mean = 1 + 0.8 * hazard;
  const double variance = 0.64 * (1 + a * hazard - hazard * hazard);
  forms.push_back(
      {"normal, truncated",
       {.kind = Kind::kNormal, .mean = 1, .sd = 0.8},
       mean,
       std::sqrt(variance) / mean,
       [a](double x) { return (NormalCdf((x - 1) / 0.8) - NormalCdf(a)) / (1 - NormalCdf(a)); }});
  for (const double cv : {0.25, 1.0, 2.0}) {
    const double k = 1 / (cv * cv);
    forms.push_back({"gamma", {.kind = Kind::kGamma, .mean = 3, .cv = cv}, 3, cv, [k](double x) {
                       return GammaCdf(k, x * k / 3);
                     }});
  }
  for (const double k : {0.6, 1.0, 3.0}) {
    const double first = std::tgamma(1 + 1 / k), second = std::tgamma(1 + 2 / k);
    forms.push_back({"weibull",
                     {.kind = Kind::kWeibull, .mean = 5, .shape = k},
                     5,
                     std::sqrt(second / (first * first) - 1),
                     [k, first](double x) { return -std::expm1(-std::pow(x * first / 5, k)); }});
  }
  for (const double alpha : {1.5, 5.0}) {
    std::optional<double> cv;  // Set if the fourth moment is finite, else the draws' won't settle.
    if (alpha > 4) cv = std::sqrt(1 / (alpha * (alpha - 2)));
    const double least = 4 * (alpha - 1) / alpha;
    forms.push_back(
        {"pareto",
         {.kind = Kind::kPareto, .mean = 4, .shape = alpha},
         4,
         cv,
         [alpha, least](double x) { return x < least ? 0 : 1 - std::pow(least / x, alpha); }});
  }
  return forms;
}

TEST(Sampler, FollowsItsClosedForms) {
  for (const ClosedForm& form : ClosedForms()) {
    SCOPED_TRACE(form.what + std::to_string(form.cv.value_or(-1)));
    const std::vector<double> values = Draws(form.distribution);
    EXPECT_LT(KolmogorovSmirnov(values, form.cdf), kKolmogorovSmirnovLimit);
    if (!form.cv) continue;
    EXPECT_NEAR(MeanOf(values), form.mean, 5 * form.mean * *form.cv / std::sqrt(kDraws));
    EXPECT_NEAR(CvOf(values), *form.cv, 0.03 * *form.cv);
  }
}

TEST(Sampler, TheTestOfTheCurveTellsNeighboursApart) {
  const std::vector<double> values = Draws({.kind = Kind::kGamma, .mean = 3, .cv = 1.02});
  EXPECT_GT(KolmogorovSmirnov(values, [](double x) { return -std::expm1(-x / 3); }),
            kKolmogorovSmirnovLimit);
}

TEST(Sampler, TheTailOfTheExponentialIsThere) {
  // Beyond the ziggurat's last layer, at 7.697: exp(-7.697) = 0.000454 of all draws.
  const std::vector<double> values = Draws({.kind = Kind::kExponential, .mean = 1}, 2'000'000);
  std::vector<double> tail;
  for (double value : values) {
    if (value > 7.69711747013105) tail.push_back(value - 7.69711747013105);
  }
  EXPECT_NEAR(static_cast<double>(tail.size()), 907.6, 5 * 30);
  EXPECT_LT(KolmogorovSmirnov(tail, [](double x) { return -std::expm1(-x); }),
            kKolmogorovSmirnovLimit);
}

TEST(Sampler, FixedIsTheMeanAndZeroMeansAreZero) {
  for (double value : Draws({.kind = Kind::kFixed, .mean = 0.25}, 10)) EXPECT_EQ(value, 0.25);
  for (Kind kind : {Kind::kFixed, Kind::kNormal, Kind::kExponential, Kind::kGamma, Kind::kWeibull,
                    Kind::kPareto}) {
    for (double value : Draws({.kind = kind, .mean = 0, .sd = 0, .cv = 1, .shape = 2}, 10))
      EXPECT_EQ(value, 0);
  }
}

// The bits, as drawn on x86-64 by gcc 12: another platform, compiler or library must draw the same.
TEST(Sampler, DrawsAreTheSameBitsEverywhere) {
  const auto hash = [](const Distribution& distribution) {
    uint64_t bits = 0xcbf29ce484222325;
    for (double value : Draws(distribution, 20'000, 7))
      bits = (bits ^ std::bit_cast<uint64_t>(value)) * 0x100000001b3;
    return bits;
  };
  EXPECT_EQ(hash({.kind = Kind::kNormal, .mean = 1, .sd = 0.8}), 0xf9238ff98e694f3fU);
  EXPECT_EQ(hash({.kind = Kind::kExponential, .mean = 2}), 0x77a43db95bb0586eU);
  EXPECT_EQ(hash({.kind = Kind::kGamma, .mean = 3, .cv = 0.5}), 0x51280f737f16be27U);
  EXPECT_EQ(hash({.kind = Kind::kGamma, .mean = 3, .cv = 2}), 0xbf8f5dabea9adc9dU);
  EXPECT_EQ(hash({.kind = Kind::kWeibull, .mean = 5, .shape = 0.6}), 0x86918c52ec69d969U);
  EXPECT_EQ(hash({.kind = Kind::kPareto, .mean = 4, .shape = 1.5}), 0xc1cd1bdc11b32dddU);
}

TEST(DistributionNames, GoBothWays) {
  Kind parsed;
  for (Kind kind : {Kind::kFixed, Kind::kNormal, Kind::kExponential, Kind::kGamma, Kind::kWeibull,
                    Kind::kPareto}) {
    ASSERT_TRUE(ParseDistribution(ToString(kind), &parsed));
    EXPECT_EQ(parsed, kind);
    EXPECT_NE(DistributionNames().find(ToString(kind)), std::string::npos);
  }
  EXPECT_FALSE(ParseDistribution("poisson", &parsed));
}

}  // namespace
}  // namespace cosched
