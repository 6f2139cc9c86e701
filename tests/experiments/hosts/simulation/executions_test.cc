// The simulator's core against a second way to the same answer: progress by small steps of time.

#include "experiments/hosts/simulation/executions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/base/random.h"

namespace cosched {
namespace {

TEST(Executions, CompleteInOrderOfWorkOverRate) {
  Executions executions;
  const auto clock = executions.AddClock(1);
  executions.Add(0, 10);
  executions.Add(1, 10);
  executions.Add(2, 10);
  EXPECT_FALSE(executions.Next());  // Nothing runs yet.
  executions.SetRate(0, clock, 1, 0);
  executions.SetRate(1, clock, 4, 0);
  ASSERT_TRUE(executions.Next());
  EXPECT_EQ(executions.Next()->id, 1);
  EXPECT_EQ(executions.Next()->time, 2.5);
  executions.SetRate(1, clock, 0, 2);  // 2 left.
  EXPECT_EQ(executions.Next()->id, 0);
  executions.SetRate(2, clock, 100, 2);
  EXPECT_DOUBLE_EQ(executions.Next()->time, 2.1);
  executions.Remove(2);
  EXPECT_DOUBLE_EQ(executions.Left(1, 7), 2);
  EXPECT_DOUBLE_EQ(executions.Left(0, 7), 3);
}

TEST(Executions, AClockSlowsAllOfItsOwn) {
  Executions executions;
  const auto steady = executions.AddClock(1);
  const auto slowed = executions.AddClock(1);
  for (int id = 0; id < 2; ++id) executions.Add(id, 10);
  executions.SetRate(0, steady, 1, 0);
  executions.SetRate(1, slowed, 1, 0);
  executions.SetSpeed(slowed, 0.5, 4);
  EXPECT_DOUBLE_EQ(executions.Left(0, 6), 4);
  EXPECT_DOUBLE_EQ(executions.Left(1, 6), 5);
  EXPECT_EQ(executions.Next()->id, 0);
  executions.Remove(0);
  EXPECT_DOUBLE_EQ(executions.Next()->time, 16);
  executions.SetSpeed(slowed, 0, 6);
  EXPECT_FALSE(executions.Next());
}

// Random changes of rates and speeds; what is left of each is also kept by adding up.
TEST(Executions, AgreeWithAddingUp) {
  Executions executions;
  Random random(5);
  constexpr int kClocks = 3, kIds = 40;
  struct Copy {
    double left = 0, rate = 0;
    int clock = 0;
  };
  std::map<int, Copy> copies;
  double speeds[kClocks] = {1, 1, 1};
  for (int clock = 0; clock < kClocks; ++clock) executions.AddClock(1);
  double now = 0;
  for (int round = 0; round < 5000; ++round) {
    double until = now + random.Exponential(0.1);
    const auto next = executions.Next();
    const bool completes = next && next->time <= until;
    if (completes) until = next->time;
    for (auto& [id, copy] : copies) copy.left -= (until - now) * copy.rate * speeds[copy.clock];
    now = until;
    if (completes) {
      for (const auto& [id, copy] : copies) EXPECT_GE(copy.left, -1e-6) << "missed " << id;
      EXPECT_NEAR(copies.at(next->id).left, 0, 1e-6);
      executions.Remove(next->id);
      copies.erase(next->id);
      continue;
    }
    const int id = static_cast<int>(random.Below(kIds));
    const int clock = static_cast<int>(random.Below(kClocks));
    if (random.Below(4) == 0) {
      speeds[clock] = random.Uniform(0, 2);
      executions.SetSpeed(clock, speeds[clock], now);
    } else {
      if (!copies.contains(id)) executions.Add(id, copies[id].left = random.Exponential(1));
      copies[id].clock = clock;
      copies[id].rate = random.Below(3) == 0 ? 0 : random.Uniform(0, 3);
      executions.SetRate(id, clock, copies[id].rate, now);
    }
    for (const auto& [other, copy] : copies)
      ASSERT_NEAR(executions.Left(other, now), std::max(0.0, copy.left), 1e-6);
  }
}

}  // namespace
}  // namespace cosched
