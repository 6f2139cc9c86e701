// The controllers of services' cores: their laws against closed forms and step by step, and what
// becomes of the amounts that the instances of a node want.

#include "policies/core_controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/random.h"
#include "tests/policies/controller_machine.h"

namespace cosched {
namespace {

constexpr double kB = 0.21, kD = 0.17;

// ROMA's own form, which carries x on.
class PublishedLaw {
 public:
  PublishedLaw(double b, double d) : b_(b), d_(d) {}
  double Next(double error) {
    error_ = error;
    state_ += b_ * error;
    return state_ + d_ * error;
  }
  void Got(double cores) { state_ = cores - b_ * error_; }

 private:
  const double b_, d_;
  double state_ = 0;
  double error_ = 0;
};

TEST(VelocityLaw, IsThePublishedFormAlsoWhileItSaturates) {
  Random random(1);
  VelocityLaw law(kB, kD);
  PublishedLaw published(kB, kD);
  int saturated = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double error = 8 * random.Uniform() - 4;
    const double ours = law.Next(error), theirs = published.Next(error);
    ASSERT_NEAR(ours, theirs, 1e-12) << i;
    const double cores = std::clamp(ours, 0.1, 4.0);
    saturated += cores != ours ? 1 : 0;
    law.Got(cores);
    published.Got(std::clamp(theirs, 0.1, 4.0));
  }
  EXPECT_GT(saturated, 10'000);
}

TEST(VelocityLaw, ActsAtOnceHoweverLongItWasSaturated) {
  for (const int windows : {1, 10, 1000}) {
    VelocityLaw law(kB, kD);
    for (int i = 0; i < windows; ++i) law.Got(std::min(law.Next(5), 4.0));
    EXPECT_LT(law.Next(-1), 4.0) << windows;
  }
}

// The plant of ROMA's controller tests: mean response by requests and cores.
double PlantResponse(double requests, double cores) {
  const double u = requests / cores;
  return (1.80763 * u + 4.317) / (u + 565.8);
}
double PlantCores(double requests, double sla) {
  return requests * (1.80763 - sla) / (565.8 * sla - 4.317);
}

struct Settling {
  int windows = 0;  // Until it stays within 2 % of what is needed.
  double most = 0;
  std::vector<double> cores;
};

Settling SettleOnPlant(double requests, double d, double least) {
  constexpr double kSla = 0.6;
  VelocityLaw law(kB, d);
  double cores = std::max(least, PlantCores(100, kSla));
  // It has rested at 100 requests a second.
  for (int i = 0; i < 300; ++i) {
    cores = std::max(least, law.Next(1 / kSla - 1 / PlantResponse(100, cores)));
    law.Got(cores);
  }
  Settling settling;
  const double needed = PlantCores(requests, kSla);
  for (int i = 1; i <= 400; ++i) {
    cores = std::max(least, law.Next(1 / kSla - 1 / PlantResponse(requests, cores)));
    law.Got(cores);
    settling.cores.push_back(cores);
    settling.most = std::max(settling.most, cores);
    if (std::abs(cores - needed) > 0.02 * needed) settling.windows = i + 1;
  }
  return settling;
}

TEST(VelocityLaw, SettlesOnThePublishedPlantAsItsClosedFormSays) {
  EXPECT_NEAR(PlantCores(100, 0.6), 0.3603, 5e-5);
  EXPECT_NEAR(PlantCores(500, 0.6), 1.8016, 5e-5);
  EXPECT_NEAR(PlantCores(1000, 0.6), 3.6031, 5e-5);
  const Settling at_500 = SettleOnPlant(500, 0.20, 1);
  EXPECT_NEAR(at_500.cores[0], 1.6076, 5e-5);
  EXPECT_NEAR(at_500.cores[1], 1.5528, 5e-5);
  EXPECT_NEAR(at_500.cores[2], 1.5904, 5e-5);
  const std::vector<std::pair<double, int>> published = {{500, 18}, {600, 27}, {700, 35},
                                                         {800, 42}, {900, 49}, {1000, 56}};
  for (const auto& [requests, windows] : published) {
    const Settling settling = SettleOnPlant(requests, 0.20, 1);
    EXPECT_NEAR(settling.windows, windows, 1) << requests;
    EXPECT_LE(settling.most, PlantCores(requests, 0.6) * (1 + 1e-9)) << requests;
  }
}

// How far the loop swings around RT = S / c at the end.
double SwingOn(double one_core_s, double gain) {
  const double sla = 2 * one_core_s / 3;  // At 1.5 cores.
  VelocityLaw law(kB * gain, kD * gain);
  law.Got(1.5);
  double cores = 1.45, low = 0, high = 0;
  for (int i = 0; i < 400; ++i) {
    if (i == 300) low = high = cores;
    cores = std::max(0.05, law.Next(1 / sla - cores / one_core_s));
    law.Got(cores);
    low = std::min(low, cores);
    high = std::max(high, cores);
  }
  return high - low;
}

// z^2 - (1 - (B + D) K) z - B K with K = 1 / S is stable while K < 2 / (2 B + D).
TEST(VelocityLaw, PublishedGainsSwingForModelsFasterThanTheirLimit) {
  const double limit_s = (2 * kB + kD) / 2;
  EXPECT_NEAR(limit_s, 0.295, 1e-9);
  EXPECT_LT(SwingOn(1.03 * limit_s, 1), 0.02);
  EXPECT_GT(SwingOn(0.97 * limit_s, 1), 0.2);
  for (const double one_core_s : {0.01, 0.07, 0.59, 5.0})
    EXPECT_LT(SwingOn(one_core_s, one_core_s / 0.59), 1e-9) << one_core_s;
}

TEST(FitAmounts, KeepsRatiosWithinAStepAndFits) {
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<CpuShare> amounts(1 + random.Below(6));
    for (CpuShare& amount : amounts) amount.milli = 100 * (1 + random.Below(60));
    const std::vector<CpuShare> wanted = amounts;
    const CpuShare room = CpuShare::OfCores(static_cast<int>(1 + random.Below(8)));
    FitAmounts(room, {100}, &amounts);
    int64_t all = 0, sum = 0;
    for (size_t k = 0; k < amounts.size(); ++k) {
      all += wanted[k].milli;
      sum += amounts[k].milli;
    }
    if (all <= room.milli) {
      EXPECT_EQ(amounts, wanted);
      continue;
    }
    EXPECT_LE(sum, room.milli);
    EXPECT_GT(sum, room.milli - 100) << "nothing is given away";
    for (size_t k = 0; k < amounts.size(); ++k) {
      const double share =
          static_cast<double>(wanted[k].milli * room.milli) / static_cast<double>(all);
      EXPECT_GT(amounts[k].milli, 0);
      EXPECT_LT(static_cast<double>(amounts[k].milli), share + 100);
    }
  }
}

TEST(RomaCt, FollowsItsLawOnTheGrid) {
  ControllerMachine machine("roma-ct", 1);
  EXPECT_EQ(machine.Amounts(), std::vector<int64_t>{100}) << "its least";
  machine.Server(0) = Answers(10, 0.5);  // e = 1/.4 - 1/.5 = .5: .38 x .5 = .19, up to .2.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{200});
  machine.Server(0) = Answers(10, 0.8);  // e = 1.25: .2 + .21 x .75 + .17 x 1.25 = .57, up to .6.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{600});
  machine.Server(0) = Answers(10, 0.25);  // e = -1.5: .6 - .21 x 2.75 - .17 x 1.5 < 0.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{100});
  machine.Server(0) = {.dispatched = 3};  // e = 1/.4: .1 + .21 x 4 + .17 x 2.5 = 1.365.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{1400}) << "nothing was answered";
  machine.Server(0) = {};
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{100}) << "it is asked nothing";
  machine.Server(0) = Answers(10, 0.8);  // From rest: .1 + .38 x 1.25 = .575.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{600});
}

TEST(RomaCt, RoundsToTheNearestIfItIsTold) {
  ControllerMachine machine("roma-ct", 1, {{"rounding", "nearest"}, {"gain", "2"}});
  machine.Server(0) = Answers(10, 0.5);  // .38 = 2 x .19.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{400});
  machine.Server(0) = Answers(10, 0.45);  // e = .2778: .4 + .42 x -.2222 + .34 x .2778 = .4011.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{400});
}

TEST(RomaCt, GoesByWhatTheInstanceDidAndNotItsService) {
  ControllerMachine machine("roma-ct", 2);
  machine.Server(0) = Answers(10, 0.8);  // .38 x 1.25 = .475.
  machine.Server(1) = Answers(30, 0.3);
  machine.Service().mean_response = std::chrono::milliseconds(425);
  EXPECT_EQ(machine.Over(), (std::vector<int64_t>{500, 100}));
}

TEST(RomaCt, GoesOnFromWhatItGotBesideOthers) {
  ControllerMachine machine("roma-ct", 2, {{"gain", "10"}});
  machine.Server(0) = machine.Server(1) = Answers(10, 0.8);  // 3.8 x 1.25 = 4.75 each, at most 4.
  EXPECT_EQ(machine.Over(), (std::vector<int64_t>{2000, 2000})) << "four cores";
  machine.Server(0) = Answers(10, 1 / (2.5 + 0.1));  // e = -.1: 2 - 2.1 x 1.35 - 1.7 x .1 < 0.
  machine.Server(1) = Answers(10, 0.8);              // 2 + 1.7 x 1.25 = 4.125: 4.
  EXPECT_EQ(machine.Over(), (std::vector<int64_t>{100, 3900})) << "4 x .1 / 4.1 is .097…, up to .1";
}

TEST(RomaCt, JobsShareWhatServicesLeave) {
  ControllerMachine machine("roma-ct", 1);
  machine.Add(MakeJob(1, {1, 4, 4}));
  machine.Add(MakeJob(2, {1, 1, 1}));
  EXPECT_EQ(machine.Amounts(), (std::vector<int64_t>{100, 2900, 1000})) << "the last asks for one";
  machine.Server(0) = Answers(10, 4.0);  // .38 x 2.25 = .855.
  EXPECT_EQ(machine.Over(), (std::vector<int64_t>{900, 2100, 1000}));
}

TEST(RomaCt2, FollowsTheQueue) {
  ControllerMachine machine("roma-ct2", 1);
  // lambda = 10: 4 wanted there, 24 are: e = -20, p = .6, i = .1 + .03 x .25 x 20 = .25.
  machine.Server(0) = {.dispatched = 20, .answered = 10, .in_flight = 24};
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{850});
  machine.Server(0).in_flight = 4;  // e = 0: p = 0, i = .85 - .6 = .25.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{250});
  machine.Server(0) = {.dispatched = 0, .answered = 4, .in_flight = 0};
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{100});
}

// Of 400 ms a half is aimed at, beside a whole objective of 200 ms.
TEST(CoreController, AimsAtAPartOfTheObjective) {
  for (const char* policy : {"roma-ct", "roma-ct2", "kosmos"}) {
    ControllerMachine half(policy, 1, {{"aim", "0.5"}, {"least", "1"}});
    ControllerMachine whole(policy, 1, {{"least", "1"}});
    whole.Service().objective = std::chrono::milliseconds(200);
    for (const double mean_s : {0.9, 0.6, 0.3}) {
      half.Server(0) = whole.Server(0) = Answers(10, mean_s);
      half.Server(0).in_flight = whole.Server(0).in_flight = 12;
      EXPECT_EQ(half.Over(), whole.Over()) << policy;
    }
    EXPECT_GT(half.Amounts().front(), 1000) << policy;
  }
}

// What an instance got before, and its error, are its own, whoever ends or comes beside it. The
// ended one still is among the servers: it may end while its window is told.
TEST(CoreController, AnInstanceGoesOnWhileOthersEndAndCome) {
  ControllerMachine alone("roma-ct", 1), among("roma-ct", 4);
  const std::vector<double> means_s = {0.5, 0.8, 0.6, 0.45, 0.9};
  for (size_t window = 0; window < means_s.size(); ++window) {
    if (window == 2) among.Finish(0);
    if (window == 3) among.Finish(3);
    if (window == 3) among.Add(MakeJob(7, {1, 1, 1}));
    alone.Server(0) = among.Server(2) = Answers(10, means_s[window]);
    for (const size_t other : {0, 1, 3}) among.Server(other) = Answers(10, 0.3);
    const int64_t expected = alone.Over().front();
    among.Over();
    EXPECT_EQ(among.View().Find({2})->amount.milli, expected) << window;
    EXPECT_EQ(among.View().Find({1})->amount.milli, 100) << window;
  }
  EXPECT_GT(alone.Amounts().front(), 300) << "it has done something";
}

TEST(RomaRules, StepsByACoreAndRests) {
  ControllerMachine machine("roma-rules", 1, {{"rest_s", "4"}});
  const auto over = [&](double mean_s) {
    machine.Server(0) = Answers(10, mean_s);
    machine.Service().mean_response = FromSeconds(mean_s);
    return machine.Over().front();
  };
  EXPECT_EQ(machine.Amounts().front(), 1000);
  EXPECT_EQ(over(0.33), 2000) << "above 0.8 of 0.4 s";
  EXPECT_EQ(over(0.33), 2000) << "it rests for two windows";
  EXPECT_EQ(over(0.33), 3000);
  EXPECT_EQ(over(0.2), 3000);
  EXPECT_EQ(over(0.2), 3000) << "within bounds";
  EXPECT_EQ(over(0.07), 2000) << "below 0.2";
}

TEST(Kpa, GoesByMeanConcurrencyAndPanicsAtOnce) {
  // A core for each 0.7 x 2 = 1.4 requests, in windows of two seconds.
  ControllerMachine machine("kpa", 1, {{"target", "2"}, {"stable_s", "8"}, {"panic_s", "2"}});
  machine.Service().objective = Duration(0);  // It needs none.
  const auto over = [&](double mean_in_flight) {
    machine.Server(0) = {.dispatched = 5, .answered = 5, .mean_in_flight = mean_in_flight};
    return machine.Over().front();
  };
  EXPECT_EQ(machine.Amounts().front(), 1000);
  EXPECT_EQ(over(1.3), 1000);
  // 2.1 in the mean need 1.5 cores, but the last ones 2.07, which is more than twice what there is.
  EXPECT_EQ(over(2.9), 3000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(over(0), 3000) << "none is taken away while it panics";
  EXPECT_EQ(over(0), 1000) << "by half at most, to whole cores";
  EXPECT_EQ(over(1.2), 1000);
  EXPECT_EQ(over(1.4), 1000) << "just what a core may have";
}

TEST(Kpa, WhereWholeCoresAreTooFewForAllTheyAreShared) {
  EXPECT_EQ(ControllerMachine("kpa", 5).Amounts(), std::vector<int64_t>(5, 800));
}

TEST(Kosmos, FollowsItsLawByBoundedSteps) {
  ControllerMachine machine("kosmos", 1, {{"least", "1"}});
  machine.Server(0) = Answers(10, 0.8);  // e = 1.25.
  // 120 x 1.25 = 150 millicores, below its least.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{1000});
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{1100}) << "1000 + 80 x 1.25";
  machine.Server(0) = {.dispatched = 1};  // e = -10.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{1000});
  ControllerMachine small("kosmos", 1, {{"least", "0.005"}});
  small.Server(0) = Answers(10, 0.8);
  EXPECT_EQ(small.Over(), std::vector<int64_t>{8}) << "half as much again as 5, to the nearest";
}

TEST(Kosmos, GainsFollowTheErrorAfterTheyWereUsed) {
  ControllerMachine machine("kosmos", 1, {{"least", "1"}, {"gains", "adaptive"}});
  machine.Server(0) =
      Answers(10, 0.8);  // e = 1.25; then B = 40 x sqrt(2.5) = 63.2456, D = 126.491.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{1000});
  // x = 1000 - 63.2456 x 1.25; c = x + (63.2456 + 126.491) x 1.25 = 1158.1.
  EXPECT_EQ(machine.Over(), std::vector<int64_t>{1158});
}

}  // namespace
}  // namespace cosched
