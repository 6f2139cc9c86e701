// Controllers that go by a model of how long requests take: what they learn of it against lines
// that are known, what they take for enough against all there is, and what they decide window by
// window.

#include "policies/latency_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/random.h"
#include "tests/policies/controller_machine.h"

namespace cosched {
namespace {

// Of 1 to 4 cores, a unit of work on which takes slope / cores + constant.
std::shared_ptr<const SpeedCurve> Line(double slope, double constant) {
  std::vector<double> speeds;
  for (int cores = 1; cores <= 4; ++cores) speeds.push_back(1 / (slope / cores + constant));
  return std::make_shared<SpeedCurve>(std::move(speeds));
}

// Windows of one instance, made up.
class Watched {
 public:
  Watched(double slope, double constant) { job_.speed = Line(slope, constant); }
  void Add(double cores, double process_s, double mean_in_flight = 0.5, int lanes = 1) {
    job_.amount.milli = std::llround(cores * 1000);
    const ServerWindow window = {.answered = 10,
                                 .mean_in_flight = mean_in_flight,
                                 .mean_response = FromSeconds(process_s + 0.25),
                                 .mean_process = FromSeconds(process_s)};
    fit.Add({.job = job_, .service = service, .server = window}, lanes);
  }
  void AddEmpty() {
    const ServerWindow window;
    fit.Add({.job = job_, .service = service, .server = window}, 1);
  }

  LatencyFit fit;
  ServiceView service;

 private:
  JobView job_;
};

TEST(LatencyFit, IsTheSpeedCurveBeforeAnythingWasAnswered) {
  Watched watched(0.1, 0.02);
  watched.AddEmpty();
  EXPECT_NEAR(watched.fit.Model().g, 0.1, 1e-12);
  EXPECT_NEAR(watched.fit.Model().h, 0.02, 1e-12);
  EXPECT_EQ(watched.fit.WaitedS(), 0);
  watched.service.mean_work = 3;
  watched.AddEmpty();
  EXPECT_NEAR(watched.fit.Model().g, 0.3, 1e-12);
  EXPECT_NEAR(watched.fit.Model().h, 0.06, 1e-12);
}

TEST(LatencyFit, FollowsWhatItSees) {
  Watched same(0.1, 0.02), slower(0.1, 0.02);
  for (int i = 0; i < 400; ++i) {
    const double cores = i % 2 == 0 ? 0.5 : 2;
    same.Add(cores, 0.1 / cores + 0.02);
    slower.Add(cores, 0.3 / cores + 0.06);
  }
  EXPECT_NEAR(same.fit.Model().g, 0.1, 1e-9);
  EXPECT_NEAR(same.fit.Model().h, 0.02, 1e-9);
  EXPECT_NEAR(same.fit.WaitedS(), 0.25, 1e-9);
  EXPECT_NEAR(slower.fit.Model().Of(1, 0.5), 0.66, 0.06);
  EXPECT_NEAR(slower.fit.Model().Of(1, 2), 0.21, 0.06);
}

TEST(LatencyFit, LearnsOfAUnitOfWork) {
  Watched watched(0.1, 0.02);
  watched.service.mean_work = 3;
  for (int i = 0; i < 20; ++i) watched.Add(1, 3 * 0.12);
  watched.service.mean_work = 1;
  watched.Add(2, 0.07);
  EXPECT_NEAR(watched.fit.Model().Of(1, 1), 0.12, 1e-9);
}

TEST(LatencyFit, WaitingForEachOtherIsNoPartOfARequest) {
  Watched alone(0.1, 0), crowded(0.1, 0), lanes(0.1, 0);
  for (int i = 0; i < 100; ++i) {
    alone.Add(1, 0.2);
    crowded.Add(1, 0.6, 3);
    lanes.Add(2, 0.3, 3, 2);  // On a core each, half of which was in one's way.
  }
  EXPECT_NEAR(crowded.fit.Model().Of(1, 1), alone.fit.Model().Of(1, 1), 1e-9);
  EXPECT_NEAR(lanes.fit.Model().Of(1, 1), alone.fit.Model().Of(1, 1), 1e-9);
}

TEST(LatencyFit, NothingGetsLongerByMoreCoresOrIsOverBeforeItBegins) {
  Watched longer(0.001, 0.02), steep(0.1, 0);
  for (int i = 0; i < 100; ++i) {
    longer.Add(i % 2 == 0 ? 0.5 : 2, i % 2 == 0 ? 0.02 : 0.06);
    steep.Add(i % 2 == 0 ? 0.5 : 2, i % 2 == 0 ? 0.8 : 0.01);
  }
  EXPECT_EQ(longer.fit.Model().g, 0);
  EXPECT_GT(longer.fit.Model().h, 0.02);
  EXPECT_EQ(steep.fit.Model().h, 0);
  EXPECT_GT(steep.fit.Model().g, 0.1);
}

TEST(LeastCores, IsWhatTryingAllOfThemFinds) {
  Random random(3);
  int found = 0, with_batches = 0;
  for (int i = 0; i < 20'000; ++i) {
    const LatencyModel model = {.g = 0.1 * random.Uniform(),
                                .d = 0.02 * random.Uniform(),
                                .e = 0.1 * random.Uniform(),
                                .h = 0.05 * random.Uniform()};
    const LatencyDemand demand = {.requests = static_cast<int64_t>(random.Below(30)),
                                  .waited_s = 0.1 * random.Uniform(),
                                  .objective_s = 0.1 + 2 * random.Uniform()};
    const SpongeLimits limits = {.grid = {100 * (1 + static_cast<int64_t>(random.Below(10)))},
                                 .least = {100 * (1 + static_cast<int64_t>(random.Below(20)))},
                                 .most = CpuShare::OfCores(1 + static_cast<int>(random.Below(16))),
                                 .most_batch = 1 + static_cast<int>(random.Below(16))};
    std::optional<CoresAndBatch> best;
    for (CpuShare cores = limits.grid; cores <= limits.most && !best; cores += limits.grid) {
      for (int batch = 1; batch <= limits.most_batch && cores >= limits.least && !best; ++batch) {
        bool kept = true;
        for (int64_t first = 0, k = 0; first < demand.requests; first += batch, ++k) {
          const double answered_s = model.Of(batch, cores.Cores()) * static_cast<double>(1 + k);
          kept = kept && answered_s + demand.waited_s <= 0.9 * demand.objective_s;
        }
        if (kept) best = {cores, batch};
      }
    }
    const std::optional<CoresAndBatch> least = LeastCores(model, demand, limits);
    ASSERT_EQ(least.has_value(), best.has_value()) << i;
    if (!best) continue;
    EXPECT_EQ(least->cores, best->cores) << i;
    EXPECT_EQ(least->batch, best->batch) << i;
    ++found;
    with_batches += best->batch > 1;
  }
  EXPECT_GT(found, 3000);
  EXPECT_GT(20'000 - found, 3000);
  EXPECT_GT(with_batches, 1000);
}

// A window of two seconds in which so many requests came to the instance, of objective 0.4 s.
int64_t AfterRequests(ControllerMachine& machine, int64_t count) {
  machine.Server(0) = {.dispatched = count};
  return machine.Over().front();
}

const PolicyParameters kFineSponge = {{"least", "0.1"}, {"grid", "0.1"}};

TEST(Sponge, GivesTheLeastThatAnswersASecondsRequests) {
  ControllerMachine machine("sponge", 1, kFineSponge, Line(0.1, 0));
  EXPECT_EQ(machine.Amounts().front(), 1000);
  EXPECT_EQ(AfterRequests(machine, 6), 900) << "3 x .1 / c <= .36";
  EXPECT_EQ(AfterRequests(machine, 20), 2800) << "10 of them";
  EXPECT_EQ(AfterRequests(machine, 40), 2800) << "20 need more than four cores: it keeps these";
  machine.Service().mean_work = 2;
  EXPECT_EQ(AfterRequests(machine, 6), 1700) << "3 x .2 / c";
  EXPECT_EQ(AfterRequests(machine, 0), 100);
}

TEST(Sponge, LeavesTimeForWhatTheyWaited) {
  ControllerMachine machine("sponge", 1, kFineSponge, Line(0.1, 0));
  machine.Server(0) = Answers(6, 0.3);  // .1 s on its core; .2 before.
  machine.Server(0).mean_process = FromSeconds(0.1);
  EXPECT_EQ(machine.Over().front(), 1900) << "3 x .1 / c <= .16";
}

TEST(Sponge, DecidesOncePerPeriod) {
  PolicyParameters parameters = kFineSponge;
  parameters["period_s"] = "4";
  ControllerMachine machine("sponge", 1, parameters, Line(0.1, 0));
  EXPECT_EQ(AfterRequests(machine, 0), 1000);
  EXPECT_EQ(AfterRequests(machine, 8), 2300) << "8 x .1 / c <= .36";
  EXPECT_EQ(AfterRequests(machine, 0), 2300);
}

TEST(Fa2, AddsLanesOfACoreEach) {
  ControllerMachine machine("fa2", 1, {}, Line(0.1, 0));
  const auto split = [&] { return machine.View().Find({0})->split; };
  EXPECT_EQ(machine.Amounts().front(), 1000);
  EXPECT_EQ(AfterRequests(machine, 6), 1000) << "3 x .1 <= .36";
  EXPECT_EQ(AfterRequests(machine, 8), 2000) << "2 x .1 on each of two lanes";
  EXPECT_EQ(split(), (Split{2, 1}));
  EXPECT_EQ(AfterRequests(machine, 24), 4000) << "12 in a second";
  EXPECT_EQ(split(), (Split{4, 1}));
  EXPECT_EQ(AfterRequests(machine, 26), 4000) << "13 are too many: it keeps these";
  EXPECT_EQ(AfterRequests(machine, 0), 1000);
}

TEST(Fa2, LanesKeepUpHoweverMuchTimeThereIs) {
  ControllerMachine machine("fa2", 1, {}, Line(0.15, 0));
  machine.Service().objective = std::chrono::seconds(100);
  EXPECT_EQ(AfterRequests(machine, 12), 1000) << "a lane answers 6 a second, not 6.7";
  EXPECT_EQ(AfterRequests(machine, 13), 2000);
  EXPECT_EQ(AfterRequests(machine, 36), 3000);
}

const PolicyParameters kNewestOnly = {{"newest", "1"}};

TEST(CurveShares, CountsTheStallsOfAQuota) {
  ControllerMachine machine("curve-shares", 1, kNewestOnly, Line(0.1, 0));
  EXPECT_EQ(machine.Amounts().front(), 100);
  EXPECT_EQ(AfterRequests(machine, 0), 300) << ".1 + 3 x .07; with .2 cores .1 + 4 x .08";
  machine.Service().mean_work = 2;
  EXPECT_EQ(AfterRequests(machine, 0), 500) << ".2 + 3 x .05; with .4 cores .2 + 4 x .06";
  ControllerMachine slow("curve-shares", 1, {{"quota_period_ms", "1000"}}, Line(0.1, 0));
  EXPECT_EQ(AfterRequests(slow, 0), 100) << "a quota is all that a request needs";
}

TEST(CurveShares, CountsTheQueue) {
  ControllerMachine machine("curve-shares", 1, kNewestOnly, Line(0.1, 0));
  EXPECT_EQ(AfterRequests(machine, 10), 800) << "rho = .625: .1 / .375 + .02";
  EXPECT_EQ(AfterRequests(machine, 30), 1800) << "two threads, rho = .83: .05 / .17";
  EXPECT_EQ(AfterRequests(machine, 100), 4000) << "nothing is enough";
  ControllerMachine even("curve-shares", 1, {{"ca", "0"}, {"cs", "0"}}, Line(0.1, 0));
  EXPECT_EQ(AfterRequests(even, 30), 1600) << "anything more than 1.5 cores";
}

TEST(CurveShares, SmoothsTheRateOfRequests) {
  ControllerMachine machine("curve-shares", 1, {}, Line(0.1, 0));
  EXPECT_EQ(AfterRequests(machine, 10), 800);
  EXPECT_EQ(AfterRequests(machine, 0), 500) << "2.5 a second: .1 / .5 + .05";
}

TEST(CurveShares, GoesByTheCurveAndNotByTheCoresAlone) {
  // More cores help little: it takes .51 s on one, .41 on two, .36 on four.
  ControllerMachine machine("curve-shares", 1, kNewestOnly, Line(0.2, 0.31));
  EXPECT_EQ(AfterRequests(machine, 0), 4000);
  machine.Service().objective = std::chrono::milliseconds(460);
  EXPECT_EQ(AfterRequests(machine, 0), 2000) << ".41 <= .414; with 1.9 cores it stalls";
}

TEST(CurveShares, AFactorMakesTheCurveWrong) {
  // .1 s of work are taken for .2 at half the speed, .4 s at twice of it.
  for (const auto& [factor, slope] : {std::pair("0.5", 0.1), std::pair("2", 0.4)}) {
    ControllerMachine wrong("curve-shares", 1, {{"newest", "1"}, {"curve_factor", factor}},
                            Line(slope, 0));
    ControllerMachine right("curve-shares", 1, kNewestOnly, Line(0.2, 0));
    for (const int64_t requests : {0, 6, 10}) {
      EXPECT_EQ(AfterRequests(wrong, requests), AfterRequests(right, requests)) << factor;
    }
  }
}

}  // namespace
}  // namespace cosched
