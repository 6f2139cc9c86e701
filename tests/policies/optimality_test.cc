// What is known to be optimal, against brute force: no simulator, only the policies' decisions and
// the jobs' own curves, on a machine where grants take no time.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/base/random.h"
#include "tests/policies/policy_machine.h"

namespace cosched {
namespace {

struct Arriving {
  double at_s;
  Job job;
};

// Total turnaround of these jobs, by arrival, under a policy.
double TotalTurnaround(const char* topology, const char* policy, std::vector<Arriving> arrivals,
                       const PolicyParameters& parameters = {}) {
  auto machine = MakeMachine(topology, policy, parameters);
  std::map<JobId, double> left;  // Steps.
  double now = 0, total = 0;
  size_t next = 0;
  while (next < arrivals.size() || !left.empty()) {
    double step = next < arrivals.size() ? arrivals[next].at_s - now : INFINITY;
    JobId ends;
    const auto speed = [&](JobId id) {
      const JobView& job = *machine->arbiter.View().Find(id);
      return job.IsActive() ? job.speed->At(job.cores.Count()) : 0;
    };
    for (const auto& [id, steps] : left) {
      if (speed(id) > 0 && steps / speed(id) < step) {
        step = steps / speed(id);
        ends = id;
      }
    }
    EXPECT_TRUE(std::isfinite(step)) << "nobody runs: " << machine->State();
    total += step * static_cast<double>(left.size());
    for (auto& [id, steps] : left) {
      steps -= step * speed(id);
      const auto all = static_cast<double>(machine->arbiter.View().Find(id)->steps);
      machine->host.progress[id] = 1 - steps / all;
    }
    now += step;
    machine->Pass(step);
    if (ends.value >= 0) {
      left.erase(ends);
      machine->Finish(ends.value);
    } else {
      left[arrivals[next].job.id] = static_cast<double>(arrivals[next].job.steps);
      machine->host.progress[arrivals[next].job.id] = 0;
      machine->Submit(arrivals[next++].job);
    }
    machine->SettleAll();
  }
  return total;
}

TEST(Optimality, SrptHasTheLeastMeanTurnaroundOnOneCore) {
  constexpr char kOneCore[] = "pack:1 [numa] l3:1 core:1 pu:1";
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    constexpr int kJobs = 5;
    std::vector<Arriving> arrivals;
    double at = 0;
    for (int i = 0; i < kJobs; ++i) {
      arrivals.push_back({at, SizedJob(i, Exactly(1), 1 + static_cast<int64_t>(random.Below(20)))});
      at += static_cast<double>(random.Below(8));
    }
    // Preemptive schedules by a fixed order of the jobs; the best of them is optimal for some
    // arrivals and close for others, never better than the optimum.
    std::vector<int> order(kJobs);
    std::iota(order.begin(), order.end(), 0);
    double best = INFINITY;
    do {
      std::vector<double> left(kJobs);
      for (int i = 0; i < kJobs; ++i) left[i] = static_cast<double>(arrivals[i].job.steps);
      double total = 0;
      for (double now = 0; std::any_of(left.begin(), left.end(), [](double l) { return l > 0; });
           now += 1) {  // Sizes and arrivals are whole seconds.
        const auto runs = std::find_if(order.begin(), order.end(), [&](int job) {
          return left[job] > 0 && arrivals[job].at_s <= now;
        });
        for (int i = 0; i < kJobs; ++i) total += left[i] > 0 && arrivals[i].at_s <= now;
        if (runs != order.end()) left[*runs] -= 1;
      }
      best = std::min(best, total);
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_LE(TotalTurnaround(kOneCore, "srpt", arrivals), best + 1e-6);
  }
}

std::vector<Arriving> Batch(const std::vector<int64_t>& sizes, double p, int cores) {
  std::vector<Arriving> batch;
  for (size_t i = 0; i < sizes.size(); ++i)
    batch.push_back({0, SizedJob(static_cast<int64_t>(i), {1, cores, cores}, sizes[i], p)});
  return batch;
}

// The least total turnaround of a batch on whole cores, among schedules that change only when a job
// ends: every division of the cores is tried in every phase.
double BestOnWholeCores(const std::vector<double>& left, double p, int cores) {
  if (left.empty()) return 0;
  double best = INFINITY;
  std::vector<int> grants(left.size(), 0);
  const std::function<void(size_t, int)> divide = [&](size_t job, int free) {
    if (job + 1 < left.size()) {
      for (grants[job] = 0; grants[job] <= free; ++grants[job]) divide(job + 1, free - grants[job]);
      return;
    }
    grants[job] = free;
    double step = INFINITY;
    for (size_t i = 0; i < left.size(); ++i) {
      if (grants[i] > 0) step = std::min(step, left[i] / std::pow(grants[i], p));
    }
    std::vector<double> rest;
    for (size_t i = 0; i < left.size(); ++i) {
      const double after = left[i] - (grants[i] > 0 ? step * std::pow(grants[i], p) : 0);
      if (after > 1e-9) rest.push_back(after);
    }
    best =
        std::min(best, step * static_cast<double>(left.size()) + BestOnWholeCores(rest, p, cores));
  };
  divide(0, cores);
  return best;
}

// The optimum of the paper, for cores that can be divided at will: the policy's own shares, played
// without rounding.
double ContinuousOptimum(std::vector<double> left, double p, double cores) {
  std::sort(left.begin(), left.end(), std::greater<>());  // From the largest.
  double total = 0;
  while (!left.empty()) {
    const auto m = static_cast<double>(left.size());
    const auto share = [&](double i) {
      return std::pow(i / m, 1 / (1 - p)) - std::pow((i - 1) / m, 1 / (1 - p));
    };
    const double step = left.back() / std::pow(share(m) * cores, p);
    total += step * m;
    for (size_t i = 0; i < left.size(); ++i)
      left[i] -= step * std::pow(share(static_cast<double>(i) + 1) * cores, p);
    left.pop_back();
  }
  return total;
}

TEST(Optimality, HesrptFormulaIsTheBestDivisionOfTwoJobs) {
  for (const double p : {0.2, 0.5, 0.8}) {
    const std::vector<double> sizes = {7, 3};
    double best = INFINITY;
    for (int share = 1; share < 10'000; ++share) {
      const double a = share * 1e-4 * 10, b = 10 - a;
      const double first = std::min(sizes[0] / std::pow(a, p), sizes[1] / std::pow(b, p));
      const double rest_a = sizes[0] - first * std::pow(a, p);
      const double rest_b = sizes[1] - first * std::pow(b, p);
      best = std::min(best, 2 * first + std::max(rest_a, rest_b) / std::pow(10, p));
    }
    EXPECT_NEAR(ContinuousOptimum(sizes, p, 10) / best, 1, 1e-4) << p;
  }
}

TEST(Optimality, HesrptOnWholeCoresIsCloseToTheBestOfAllDivisions) {
  double worst = 1;
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    Random random(seed);
    const double p = 0.2 + 0.6 * random.Uniform();
    std::vector<int64_t> sizes(2 + random.Below(2));
    for (int64_t& size : sizes) size = 10 + static_cast<int64_t>(random.Below(500));
    const double best = BestOnWholeCores({sizes.begin(), sizes.end()}, p, 8);
    const double ours = TotalTurnaround("pack:1 [numa] l3:1 core:8 pu:1", "hesrpt",
                                        Batch(sizes, p, 8), {{"p", std::to_string(p)}});
    EXPECT_GE(ours, best - 1e-6) << seed;
    worst = std::max(worst, ours / best);
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LT(worst, 1.05);
}

TEST(Optimality, HesrptReachesItsClosedFormOnManyCoresAndBeatsTheOthers) {
  constexpr char kManyCores[] = "pack:1 [numa] l3:1 core:64 pu:1";
  for (const double p : {0.3, 0.6, 0.9}) {
    const std::vector<int64_t> sizes = {1000, 700, 400, 150, 60};
    const double optimum = ContinuousOptimum({sizes.begin(), sizes.end()}, p, 64);
    const double ours = TotalTurnaround(kManyCores, "hesrpt", Batch(sizes, p, 64));
    EXPECT_NEAR(ours / optimum, 1, 0.01) << p;
    EXPECT_LT(ours, TotalTurnaround(kManyCores, "equal-share", Batch(sizes, p, 64))) << p;
    EXPECT_LT(ours, TotalTurnaround(kManyCores, "srpt", Batch(sizes, p, 64))) << p;
  }
}

}  // namespace
}  // namespace cosched
