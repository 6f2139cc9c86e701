// Fast divisions of many cores among many jobs, against the obvious slow ones on random inputs.

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "policies/repartition.h"
#include "tests/policies/policy_machine.h"

namespace cosched {
namespace {

// Core by core to whoever has least, the first among equals.
std::vector<int> DivideCoreByCore(const std::vector<CoreBounds>& bounds, int left) {
  std::vector<int> cores;
  for (const CoreBounds& bound : bounds) cores.push_back(bound.min);
  for (; left > 0; --left) {
    int* least = nullptr;
    for (size_t i = 0; i < bounds.size(); ++i) {
      if (cores[i] < bounds[i].max && (least == nullptr || cores[i] < *least)) least = &cores[i];
    }
    if (least == nullptr) break;
    ++*least;
  }
  return cores;
}

TEST(DivideEqually, IsTheDivisionCoreByCore) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<CoreBounds> bounds(random.Below(12));
    for (CoreBounds& bound : bounds) {
      bound.min = static_cast<int>(random.Below(6));
      bound.max = bound.min + static_cast<int>(random.Below(12));
    }
    const int left = static_cast<int>(random.Below(80));
    ASSERT_EQ(DivideEqually(bounds, left), DivideCoreByCore(bounds, left)) << round;
  }
}

TEST(DivideEqually, WithNobodyOrNothing) {
  EXPECT_TRUE(DivideEqually({}, 5).empty());
  EXPECT_EQ(DivideEqually({{2, 2}, {0, 3}}, 0), (std::vector<int>{2, 0}));
}

double SumOfSpeedups(const JobTable& jobs) {
  double sum = 0;
  for (const JobView& job : jobs.Running())
    sum += job.speed->At(job.cores.Count()) / job.speed->At(1);
  return sum;
}

// The largest sum of speedups that any division reaches: by dynamic programming over the jobs.
double BestSum(const std::vector<Job>& jobs, int cores) {
  std::vector<double> best(static_cast<size_t>(cores) + 1, 0);  // By cores used at most.
  for (const Job& job : jobs) {
    std::vector<double> with(best.size(), -INFINITY);
    for (int used = job.request.min; used <= cores; ++used) {
      for (int k = job.request.min; k <= std::min(job.request.max, used); ++k)
        with[used] = std::max(with[used], best[used - k] + job.speed->At(k) / job.speed->At(1));
    }
    best = with;
  }
  return *std::max_element(best.begin(), best.end());
}

TEST(MarginalSpeedup, ReachesTheLargestSumOfSpeedupsOfAllDivisions) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    auto machine = MakeMachine(kSixteenCores, "marginal-speedup");
    std::vector<Job> jobs;
    for (int64_t id = 0; id < 4; ++id) {
      // Concave: gains that fall, in the end below zero.
      std::vector<double> speeds = {1 + 9 * random.Uniform()};
      double gain = speeds[0] * random.Uniform();
      for (int k = 2; k <= 16; ++k, gain -= 0.1 * random.Uniform())
        speeds.push_back(std::max(0.1, speeds.back() + gain));
      const int min = 1 + static_cast<int>(random.Below(3));
      Job job = MakeJob(id, {min, min, min + static_cast<int>(random.Below(12))});
      job.steps = 10;
      job.speed = std::make_shared<SpeedCurve>(speeds);
      jobs.push_back(job);
      machine->Submit(job);
      machine->SettleAll();
    }
    EXPECT_NEAR(SumOfSpeedups(machine->arbiter.View().jobs), BestSum(jobs, 16), 1e-9) << seed;
  }
}

}  // namespace
}  // namespace cosched
