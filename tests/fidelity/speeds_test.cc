// Completion times of single jobs and of batches against their formulas: scaling laws, dynamic
// equipartition, heSRPT's optimum, work conservation, what resizes cost, additivity.
// Sources: Amdahl, AFIPS 1967; Gunther 2007; McCann et al., TOCS 11(2), 1993; Berg et al.,
// Performance Evaluation 144, 2020.

#include <algorithm>
#include <numeric>

#include "tests/fidelity/simulation.h"

namespace cosched {
namespace {

std::vector<Demand> Batch(const std::vector<double>& units, CoreRequest request) {
  std::vector<Demand> batch;
  for (const double size : units) batch.push_back({.units = size, .request = request});
  return batch;
}

TEST(Speeds, ScalingLaws) {
  const double serial = 0.07, contention = 0.05, coherence = 0.002;
  for (const int k : {1, 2, 7, 64}) {
    const auto turnaround = [k](const ScalingLaw& law) {
      return Simulate({.cores = k, .profile = PerfectProfile(law)}, Batch({3}, {k, k, k}))[0]
          .Turnaround();
    };
    ExpectExactly("Amdahl on " + std::to_string(k) + " cores, W (s + (1 - s)/k)",
                  3 * (serial + (1 - serial) / k),
                  turnaround({.kind = ScalingLaw::Kind::kAmdahl, .parameters = {serial}}));
    ExpectExactly("USL on " + std::to_string(k) + " cores, W (1 + a(k - 1) + b k(k - 1))/k",
                  3 * (1 + contention * (k - 1) + coherence * k * (k - 1)) / k,
                  turnaround({.kind = ScalingLaw::Kind::kUniversalScalability,
                              .parameters = {contention, coherence}}));
  }
}

// All there at 0, speed linear in cores: as processor sharing, the i-th smallest of n ends at
// sum over j <= i of (x_j - x_(j-1)) (n - j + 1) / P, as long as the shares are whole cores.
TEST(Speeds, EquipartitionOfABatch) {
  const int cores = 12;
  const std::vector<double> sizes = {1, 2, 4, 8};  // 3, 4, 6, 12 cores each.
  const std::vector<Lived> lives =
      Simulate({.policy = "equal-share", .cores = cores}, Batch(sizes, {1, cores, cores}));
  double end = 0, before = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    end += (sizes[i] - before) * static_cast<double>(sizes.size() - i) / cores;
    before = sizes[i];
    ExpectExactly("EQUI, job " + std::to_string(i) + " of a batch", end, lives[i].ended);
  }
}

// Speed k^p, all there at 0. With x_1 >= ... >= x_n, the least sum of turnarounds is
// N^-p sum_i x_i (i^(1/(1-p)) - (i-1)^(1/(1-p)))^(1-p). Whole cores can't do better, and reach it
// where all shares of the optimum are whole: p = 1/2 gives shares 1/4 and 3/4, 1/9, 3/9 and 5/9.
TEST(Speeds, HeSrptReachesTheOptimum) {
  const double p = 0.5;
  const int cores = 36;
  const std::vector<double> sizes = {9, 4, 1};
  double optimum = 0;
  for (size_t i = 1; i <= sizes.size(); ++i) {
    const double n = static_cast<double>(i);
    optimum +=
        sizes[i - 1] * std::pow(std::pow(n, 1 / (1 - p)) - std::pow(n - 1, 1 / (1 - p)), 1 - p);
  }
  optimum /= std::pow(cores, p);
  Profile profile = PerfectProfile();
  profile.programs[0].alone.clear();
  for (int k = 1; k <= cores; ++k) {
    const double step = 1 / (kStepsPerUnit * std::pow(k, p));
    profile.programs[0].alone.push_back({k, {1, k}, {step, step, step, 1}});
  }
  const auto sum = [&](const std::string& policy) {
    const std::vector<Lived> lives = Simulate(
        {.policy = policy, .cores = cores, .profile = profile}, Batch(sizes, {1, cores, cores}));
    return std::accumulate(lives.begin(), lives.end(), 0.0,
                           [](double all, const Lived& life) { return all + life.Turnaround(); });
  };
  ExpectExactly("heSRPT, sum of turnarounds", optimum, sum("hesrpt"), 1e-5);
  for (const char* other : {"equal-share", "srpt", "strict"}) {
    const double worse = sum(other);
    std::printf("  %s: %.6g, %.1f %% above\n", other, worse, 100 * (worse / optimum - 1));
    EXPECT_GT(worse, optimum);
  }
}

// While somebody waits, no core that could be used is idle: the last job of a busy period ends when
// all work is done, whatever the policy, if speed is linear.
TEST(Speeds, WorkIsConserved) {
  Random random(3);
  std::vector<Demand> stream;
  double total = 0;
  for (int i = 0; i < 200; ++i) {
    stream.push_back({.units = random.Exponential(2), .request = {1, 1, 1}});
    total += std::llround(stream.back().units * kStepsPerUnit) / kStepsPerUnit;
  }
  for (const char* policy : {"strict", "always-attend", "max-prop", "equal-share", "no-control"}) {
    const std::vector<Lived> lives = Simulate({.policy = policy}, stream);
    double last = 0;
    for (const Lived& life : lives) last = std::max(last, life.ended);
    ExpectExactly(std::string("work on one core, ") + policy, total, last, 1e-5);
  }
}

// Where hardware threads are cores: a job is slowed by another's thread on its physical core, which
// is where it is put last, and not by its own.
TEST(Speeds, OthersOnAPhysicalCoreCostWhatWasMeasured) {
  Simulation simulation{.cores = 2, .threads_per_core = 2};
  simulation.profile.programs[0].sibling = {1.5, 1.5, 1.5, 1};
  const std::vector<Lived> two = Simulate(simulation, Batch({1, 1}, {1, 1, 1}));
  ExpectExactly("a core for each, the first", 1, two[0].ended);
  ExpectExactly("a core for each, the second", 1, two[1].ended);
  const std::vector<Lived> three = Simulate(simulation, Batch({1, 1, 0.5}, {1, 1, 1}));
  ExpectExactly("a thread beside another's, until it ends", 0.75, three[2].ended);
  ExpectExactly("the other, which then has the core to itself", 0.75 + 0.5, three[0].ended);
  ExpectExactly("on a core of its own", 1, three[1].ended);
  ExpectExactly("on both threads of a core, as fast as was measured", 0.5,
                Simulate(simulation, Batch({1}, {2, 2, 2}))[0].ended);
}

// A malleable job computes on its old cores until a resize is done.
TEST(Speeds, ResizesCostTheirDelays) {
  Simulation simulation{.policy = "equal-share", .cores = 2};
  simulation.profile.resize = {
      .grow = {0.25, 0.25}, .shrink = {0.1, 0.1}, .pause = {}, .resume = {}};
  // Two units on two cores; at 0.5 a second job of half a unit comes and takes one of them, 0.1
  // later; when it ends the first one is told to grow, which takes 0.25.
  const std::vector<Lived> lives =
      Simulate(simulation, {{.arrival_s = 0, .units = 4, .request = {1, 2, 2}},
                            {.arrival_s = 0.5, .units = 0.5, .request = {1, 2, 2}}});
  const double shrunk = 0.5 + 0.1, second = shrunk + 0.5, grown = second + 0.25;
  ExpectExactly("a job that waits for a shrink", second, lives[1].ended);
  const double left = 4 - 2 * shrunk - (grown - shrunk);
  ExpectExactly("a job that shrinks and grows", grown + left / 2, lives[0].ended);
}

// With contention and oversubscription off, jobs side by side run as if alone; with contention on,
// each is slowed by 1 + sensitivity * pressure * rate of the other.
TEST(Speeds, AreAdditiveUnlessContentionIsOn) {
  Simulation simulation{.cores = 6};
  simulation.profile.programs[0].pressure = 0.125;
  simulation.profile.programs[0].sensitivity = 0.5;
  const std::vector<Demand> batch = Batch({2, 6}, {2, 2, 4});
  simulation.model.contention = simulation.model.oversubscription = false;
  std::vector<Lived> lives = Simulate(simulation, batch);
  ExpectExactly("side by side, contention off, the first", 1, lives[0].ended);
  ExpectExactly("side by side, contention off, the second", 3, lives[1].ended);
  simulation.model.contention = true;
  lives = Simulate(simulation, batch);
  const double slower = 1 + 0.5 * 0.125 * 2;
  ExpectExactly("side by side, contention on, the first", slower, lives[0].ended);
  ExpectExactly("side by side, contention on, the second", slower + (6 - 2) / 2.0, lives[1].ended);
}

// Two tenants of two threads on the same two cores: half of the time each, and the loss beside one
// other thread a core; once one is alone, nothing is lost.
TEST(Speeds, CrowdingCostsTheMeasuredLoss) {
  Simulation simulation{.policy = "no-control", .cores = 2};
  ProgramProfile& program = simulation.profile.programs[0];
  const auto loss = [](double value) { return Estimate{value, value, value, 1}; };
  program.crowding = {{2, 1, loss(1.25)}, {2, 3, loss(2)}};
  std::vector<Lived> lives = Simulate(simulation, Batch({1, 2}, {2, 2, 2}));
  const double first = 1 * 1.25;  // Each on as much as one core.
  ExpectExactly("two on two shared cores, the first", first, lives[0].ended);
  ExpectExactly("two on two shared cores, the second", first + (2 - 1) / 2.0, lives[1].ended);
  // Three: two others, half way between one and three.
  lives = Simulate(simulation, Batch({1, 1, 1}, {2, 2, 2}));
  ExpectExactly("three on two shared cores", 1.5 * (1.25 + 2) / 2, lives[2].ended);
  simulation.model.oversubscription = false;
  lives = Simulate(simulation, Batch({1, 1}, {2, 2, 2}));
  ExpectExactly("two on two shared cores, crowding off", 1, lives[0].ended);
}

// A program of two threads and one of one on a core of the first's: the first's threads weigh 1/4,
// so the shared core gives it 1/5 of its time, and its other thread waits for that one.
TEST(Speeds, ThreadsThatWaitForEachOtherWeighLess) {
  Simulation simulation{.policy = "no-control", .cores = 2};
  ProgramProfile& program = simulation.profile.programs[0];
  program.weight = 0.25;
  program.crowding = {{1, 1, {1, 1, 1, 1}}, {2, 1, {1.5, 1.5, 1.5, 1}}, {2, 3, {3, 3, 3, 1}}};
  const std::vector<Lived> lives = Simulate(
      simulation, {{.units = 1.2, .request = {2, 2, 2}}, {.units = 8, .request = {1, 1, 1}}});
  const double first = 1.2 / 2 * 5 * 1.5;
  ExpectExactly("the one with two threads", first, lives[0].ended);
  ExpectExactly("the one with one thread", first + (8 - 0.8 * first), lives[1].ended);
}

// The first step's extra work runs as fast as its cores are, shared ones too.
TEST(Speeds, WarmUpIsWorkOnTheCoresThatOneHas) {
  Simulation simulation{.policy = "no-control", .cores = 1};
  ProgramProfile& program = simulation.profile.programs[0];
  program.start_s = {0.25, 0.25, 0.25, 1};
  program.warm_up = {0.5 * kStepsPerUnit, 0, 0, 1};
  program.crowding = {{1, 1, {1, 1, 1, 1}}};
  const std::vector<Lived> lives = Simulate(simulation, Batch({1, 1}, {1, 1, 1}));
  ExpectExactly("two that start on a core", 0.25 + 2 * (0.5 + 1), lives[1].ended);
}

// More threads than cores: as long as the penalty's points say, in a straight line over log2.
TEST(Speeds, OversubscriptionCostsTheMeasuredPenalty) {
  Simulation simulation{.policy = "no-control", .cores = 1, .elasticity = Elasticity::kRigid};
  const double step = 1 / kStepsPerUnit;
  auto& alone = simulation.profile.programs[0].alone;
  alone.push_back({1, {1, 4}, {1.5 * step, 1.5 * step, 1.5 * step, 1}});
  const std::vector<Demand> batch = Batch({1, 1}, {1, 1, 1});
  std::vector<Lived> lives = Simulate(simulation, batch);
  ExpectExactly("two threads on a core, half way to four", 2 * 1.25, lives[0].ended);
  simulation.model.oversubscription = false;
  lives = Simulate(simulation, batch);
  ExpectExactly("two threads on a core, penalty off", 2, lives[0].ended);
}

}  // namespace
}  // namespace cosched
