// Every process against its closed forms: rate, coefficient of variation of the gaps, index of
// dispersion of the counts where it has one, and a distribution by the test of Kolmogorov and
// Smirnov, all at fixed seeds.

#include "traces/generators/arrival_process.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/traces/generators/statistics.h"

namespace cosched {
namespace {

using Kind = Distribution::Kind;
using Doubles = std::vector<double>;
constexpr int kMany = 400'000;

Doubles Times(const ProcessSpec& spec, int count = kMany, uint64_t seed = 5) {
  const auto process = MakeProcess(spec, Random(seed));
  Doubles times;
  ProcessArrival arrival;
  Duration last{0};
  while (static_cast<int>(times.size()) < count && process->Next(&arrival)) {
    EXPECT_GE(arrival.time, last);
    last = arrival.time;
    times.push_back(ToSeconds(arrival.time));
  }
  return times;
}

Doubles Gaps(const Doubles& times) {
  Doubles gaps;
  for (size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
  return gaps;
}

double RateOf(const Doubles& times) { return static_cast<double>(times.size()) / times.back(); }

double UnitExponentialCdf(double x) { return -std::expm1(-x); }

TEST(Renewal, PoissonHasItsMomentsAndItsCounts) {
  const Doubles times = Times(RenewalSpec{{.kind = Kind::kExponential, .mean = 0.5}});
  EXPECT_NEAR(RateOf(times), 2, 0.01);
  EXPECT_NEAR(CvOf(Gaps(times)), 1, 0.01);
  for (double window : {1.0, 20.0}) EXPECT_NEAR(IndexOfDispersion(times, window), 1, 0.03);
  Doubles gaps = Gaps(times);
  EXPECT_LT(KolmogorovSmirnov(gaps, [](double gap) { return UnitExponentialCdf(gap * 2); }),
            kKolmogorovSmirnovLimit);
}

// In long windows a renewal process's index of dispersion is its gaps' squared CV.
TEST(Renewal, IndexOfDispersionIsTheSquaredCv) {
  for (double cv : {0.5, 2.0}) {
    const Doubles times = Times(RenewalSpec{{.kind = Kind::kGamma, .mean = 0.1, .cv = cv}});
    EXPECT_NEAR(CvOf(Gaps(times)), cv, 0.02 * cv);
    EXPECT_NEAR(IndexOfDispersion(times, 20), cv * cv, 0.1 * cv * cv);
  }
  const double first = std::tgamma(1 + 1 / 0.7), second = std::tgamma(1 + 2 / 0.7);
  const double squared = second / (first * first) - 1;
  const Doubles weibull = Times(RenewalSpec{{.kind = Kind::kWeibull, .mean = 0.1, .shape = 0.7}});
  EXPECT_NEAR(IndexOfDispersion(weibull, 20), squared, 0.1 * squared);
}

TEST(Renewal, FixedGapsDoNotDriftByTheirRounding) {
  const Doubles times = Times(RenewalSpec{{.kind = Kind::kFixed, .mean = 1.0 / 3}}, 300'000);
  EXPECT_NEAR(times.back(), 100'000, 2e-9 + 300'000 * 2e-17);
}

TEST(Renewal, EndsWhereTimeDoes) {
  const Doubles times = Times(RenewalSpec{{.kind = Kind::kFixed, .mean = 3e9}});
  EXPECT_EQ(times.size(), 1U);  // The second would come after 190 years.
}

// Two states: rates a and b, left at the rates r and s.
TEST(Mmpp, TwoStatesHaveTheirClosedForms) {
  const double a = 20, b = 2, r = 0.5, s = 0.25;
  const MmppSpec spec{{{a, 1 / r}, {b, 1 / s}}, {}};
  const Doubles times = Times(spec, 2'000'000);
  const double rate = (a * s + b * r) / (r + s);
  EXPECT_NEAR(RateOf(times), rate, 0.02 * rate);
  // Fischer and Meier-Hellstern, section 3.
  const double change = r + s;
  const double square = (a - b) * (a - b) * r * s;
  const double cv_squared = 1 + 2 * square / (change * change * (a * b + a * s + b * r));
  EXPECT_NEAR(CvOf(Gaps(times)), std::sqrt(cv_squared), 0.02 * std::sqrt(cv_squared));
  const double at_once = 2 * square / (change * change * (a * s + b * r));
  for (double window : {0.5, 4.0, 100.0}) {
    const double settled = 1 - -std::expm1(-change * window) / (change * window);
    const double expected = 1 + at_once * settled;
    EXPECT_NEAR(IndexOfDispersion(times, window), expected, 0.06 * expected) << window;
  }
}

TEST(Mmpp, EqualRatesArePoisson) {
  const Doubles times = Times(MmppSpec{{{4, 0.3}, {4, 2}, {4, 1}}, {}});
  EXPECT_LT(KolmogorovSmirnov(Gaps(times), [](double gap) { return UnitExponentialCdf(gap * 4); }),
            kKolmogorovSmirnovLimit);
  EXPECT_NEAR(IndexOfDispersion(times, 10), 1, 0.05);
}

TEST(Mmpp, TransitionsDecideWhereTheChainGoes) {
  // Stationary: pi_i ~ visits_i * stay_i; visits of this chain are 1 : 0.9 : 0.1.
  const MmppSpec spec{{{10, 1}, {1, 2}, {100, 5}}, {{0, 0.9, 0.1}, {1, 0, 0}, {1, 0, 0}}};
  const double time = 1 * 1 + 0.9 * 2 + 0.1 * 5;
  const double rate = (1 * 1 * 10 + 0.9 * 2 * 1 + 0.1 * 5 * 100) / time;
  EXPECT_NEAR(RateOf(Times(spec, 2'000'000)), rate, 0.03 * rate);
}

TEST(Mmpp, SilentStatesAreSilences) {
  const Doubles times = Times(MmppSpec{{{1000, 1}, {0, 1}}, {}});
  const Doubles gaps = Gaps(times);
  EXPECT_GT(*std::max_element(gaps.begin(), gaps.end()), 2);
  EXPECT_NEAR(RateOf(times), 500, 50);
}

// By the expected number of arrivals so far, every Poisson process becomes one of rate 1.
double RescaledDistance(const Doubles& times, const std::function<double(double)>& expected) {
  Doubles gaps;
  double last = 0;
  for (double time : times) {
    const double now = expected(time);
    gaps.push_back(now - last);
    last = now;
  }
  return KolmogorovSmirnov(gaps, UnitExponentialCdf);
}

TEST(Diurnal, SineFollowsItsRate) {
  const RateFunction rate{.shape = RateFunction::Shape::kSine,
                          .period_s = 100,
                          .points = {},
                          .mean_per_s = 50,
                          .amplitude_per_s = 45,
                          .peak_s = 30};
  const Doubles times = Times(DiurnalSpec{rate});
  const auto expected = [](double t) {
    return 50 * t + 45 * 100 / (2 * M_PI) *
                        (std::sin(2 * M_PI * (t - 30) / 100) - std::sin(2 * M_PI * -0.3));
  };
  EXPECT_LT(RescaledDistance(times, expected), kKolmogorovSmirnovLimit);
  EXPECT_GT(RescaledDistance(times, [](double t) { return 50 * t; }), 10);
  // Whole periods: Poisson counts whose windows see all of the cycle.
  EXPECT_NEAR(RateOf(times), 50, 0.5);
  // A window of a quarter of the period: 1 + variance of the windows' means over their mean.
  Doubles means;
  for (int quarter = 0; quarter < 4; ++quarter)
    means.push_back(expected(25 * (quarter + 1)) - expected(25 * quarter));
  const double dispersion = 1 + VarianceOf(means) / MeanOf(means);
  EXPECT_NEAR(IndexOfDispersion(times, 25), dispersion, 0.05 * dispersion);
}

TEST(Diurnal, PointsAreJoinedByLines) {
  const RateFunction rate{
      .shape = RateFunction::Shape::kLinear, .period_s = 10, .points = {{0, 0}, {4, 80}, {6, 20}}};
  // The last line leads from 20 at 6 back to 0 at 10.
  const auto in_period = [](double t) {
    if (t < 4) return 10 * t * t;
    if (t < 6) return 160 + 80 * (t - 4) - 15 * (t - 4) * (t - 4);
    return 260 + 20 * (t - 6) - 2.5 * (t - 6) * (t - 6);
  };
  const auto expected = [&in_period](double t) {
    return 300 * std::floor(t / 10) + in_period(std::fmod(t, 10));
  };
  const Doubles times = Times(DiurnalSpec{rate});
  EXPECT_NEAR(RateOf(times), 30, 0.3);
  EXPECT_LT(RescaledDistance(times, expected), kKolmogorovSmirnovLimit);
}

TEST(Diurnal, StepsHoldAndZeroesAreSilent) {
  const RateFunction rate{
      .shape = RateFunction::Shape::kSteps, .period_s = 4, .points = {{0, 5}, {1, 0}, {3, 50}}};
  const auto expected = [](double t) {
    const double in = std::fmod(t, 4);
    return 55 * std::floor(t / 4) + std::min(in, 1.0) * 5 + std::max(0.0, in - 3) * 50;
  };
  const Doubles times = Times(DiurnalSpec{rate});
  EXPECT_LT(RescaledDistance(times, expected), kKolmogorovSmirnovLimit);
  for (double time : times) ASSERT_FALSE(std::fmod(time, 4) > 1 && std::fmod(time, 4) < 3) << time;
}

TEST(Bursts, GeometricSizesHaveTheirClosedForms) {
  const double m = 8, pause = 2, within = 0.01;
  const BurstsSpec spec{{.kind = Kind::kExponential, .mean = pause}, m, true, within};
  const Doubles times = Times(spec, 2'000'000);
  const double cycle = pause + (m - 1) * within;
  EXPECT_NEAR(RateOf(times), m / cycle, 0.02 * m / cycle);
  // A gap is a pause with the probability 1 / m.
  const double mean = cycle / m;
  const double second = (2 * pause * pause + (m - 1) * within * within) / m;
  EXPECT_NEAR(CvOf(Gaps(times)), std::sqrt(second / (mean * mean) - 1), 0.05);
  // Renewal reward: size and length of a cycle vary together.
  const double size_variance = m * (m - 1);
  const double expected =
      (size_variance - 2 * m / cycle * within * size_variance +
       m * m / (cycle * cycle) * (within * within * size_variance + pause * pause)) /
      m;
  EXPECT_NEAR(IndexOfDispersion(times, 400), expected, 0.1 * expected);
  Doubles pauses;
  for (double gap : Gaps(times)) {
    if (std::abs(gap - within) > 2e-9) pauses.push_back(gap);
  }
  EXPECT_LT(
      KolmogorovSmirnov(pauses, [pause](double gap) { return UnitExponentialCdf(gap / pause); }),
      kKolmogorovSmirnovLimit);
}

TEST(Bursts, FixedSizesAtOnceAreTies) {
  const BurstsSpec spec{{.kind = Kind::kExponential, .mean = 1}, 5, false, 0};
  const Doubles times = Times(spec);
  for (size_t i = 0; i < 1000; ++i) EXPECT_EQ(times[i], times[i / 5 * 5]);
  EXPECT_LT(times[0], times[5]);
  EXPECT_NEAR(IndexOfDispersion(times, 50), 5, 0.3);  // A batch Poisson process: its batch size.
}

TEST(ClosedLoop, RateIsUsersOverTheirCycle) {
  const ClosedLoopSpec spec{30,
                            {.kind = Kind::kGamma, .mean = 0.2, .cv = 0.5},
                            {.kind = Kind::kExponential, .mean = 1.8}};
  const Doubles times = Times(spec);
  EXPECT_NEAR(RateOf(times), 15, 0.15);
  // Independent renewal processes: in long windows each one's squared CV of its cycle.
  const double cv_squared = (0.01 + 1.8 * 1.8) / (2.0 * 2.0);
  EXPECT_NEAR(IndexOfDispersion(times, 40), cv_squared, 0.1);
}

TEST(ClosedLoop, AUserWaitsForTheAnswerAndThinks) {
  const ClosedLoopSpec spec{
      1, {.kind = Kind::kFixed, .mean = 0.5}, {.kind = Kind::kExponential, .mean = 2}};
  const auto process = MakeProcess(spec, Random(9));
  Doubles thinking;
  ProcessArrival arrival;
  Duration answered{0};
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_TRUE(process->Next(&arrival));
    thinking.push_back(ToSeconds(arrival.time - answered));
    ASSERT_NEAR(ToSeconds(*arrival.service), 0.5, 2e-9);
    answered = arrival.time + *arrival.service;
  }
  EXPECT_LT(KolmogorovSmirnov(thinking, [](double time) { return UnitExponentialCdf(time / 2); }),
            kKolmogorovSmirnovLimit);
}

TEST(LoadGen, SingleStreamIsOneQueryAfterTheOther) {
  LoadGenSpec spec{.scenario = LoadGenSpec::Scenario::kSingleStream, .latency_s = 0.01};
  spec.min_query_count = 5;
  EXPECT_EQ(Times(spec), (Doubles{0, 0.01, 0.02, 0.03, 0.04}));
  spec.min_duration_s = 0.1;
  EXPECT_EQ(Times(spec).size(), 10U);
}

TEST(LoadGen, MultiStreamIssuesItsSamplesTogether) {
  LoadGenSpec spec{.scenario = LoadGenSpec::Scenario::kMultiStream, .latency_s = 0.05};
  spec.samples_per_query = 3;
  spec.min_query_count = 2;
  EXPECT_EQ(Times(spec), (Doubles{0, 0, 0, 0.05, 0.05, 0.05}));
}

TEST(LoadGen, ServerIsPoissonUntilBothLimitsAreReached) {
  LoadGenSpec spec{.scenario = LoadGenSpec::Scenario::kServer, .target_qps = 1000};
  spec.min_duration_s = 100;
  const Doubles times = Times(spec);
  EXPECT_NEAR(static_cast<double>(times.size()), 100'000, 5 * 316);
  EXPECT_LT(times.back(), 100);
  EXPECT_LT(
      KolmogorovSmirnov(Gaps(times), [](double gap) { return UnitExponentialCdf(gap * 1000); }),
      kKolmogorovSmirnovLimit);
  spec.min_query_count = 200'000;
  EXPECT_EQ(Times(spec).size(), 200'000U);
}

TEST(LoadGen, OfflineIsEverythingAtOnce) {
  LoadGenSpec spec{.scenario = LoadGenSpec::Scenario::kOffline, .target_qps = 100};
  spec.min_duration_s = 10;
  EXPECT_EQ(Times(spec), Doubles(1100, 0.0));
  spec.min_query_count = 24'576;
  EXPECT_EQ(Times(spec).size(), 24'576U);
}

}  // namespace
}  // namespace cosched
