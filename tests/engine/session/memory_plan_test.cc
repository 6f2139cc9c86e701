#include "engine/session/memory_plan.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

PlannedValue Value(int task, size_t bytes, std::vector<int> users, bool pinned = false) {
  return {.task = task, .bytes = bytes, .users = std::move(users), .pinned = pinned};
}

TaskGraph Chain(int tasks) {
  TaskGraph chain;
  for (int i = 0; i < tasks; ++i) {
    chain.Add(false, 1);
    if (i > 0) chain.AddEdge(i - 1, i);
  }
  chain.Seal();
  return chain;
}

TEST(MemoryPlanTest, AChainNeedsTwoBuffers) {
  const MemoryPlan plan = PlanMemory(
      Chain(4), {Value(0, 64, {1}), Value(1, 64, {2}), Value(2, 64, {3}), Value(3, 64, {})}, {});
  EXPECT_EQ(plan.buffer_of, (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(plan.buffer_bytes, (std::vector<size_t>{64, 64}));
}

TEST(MemoryPlanTest, ATaskNeverWritesOverItsInput) {
  const MemoryPlan plan = PlanMemory(Chain(2), {Value(0, 64, {1}), Value(1, 64, {})}, {});
  EXPECT_NE(plan.buffer_of[0], plan.buffer_of[1]);
}

TEST(MemoryPlanTest, OutputsOfOneTaskAreApart) {
  const MemoryPlan plan = PlanMemory(Chain(1), {Value(0, 64, {}), Value(0, 64, {})}, {});
  EXPECT_NE(plan.buffer_of[0], plan.buffer_of[1]);
}

TEST(MemoryPlanTest, BranchesThatMayRunAtOnceDoNotShare) {
  // 0 -> {1, 2} -> 3: 1 may still read value 0 while 2 writes, and the other way round.
  TaskGraph tasks;
  for (int i = 0; i < 4; ++i) tasks.Add(false, 1);
  for (int branch : {1, 2}) {
    tasks.AddEdge(0, branch);
    tasks.AddEdge(branch, 3);
  }
  tasks.Seal();
  const MemoryPlan plan = PlanMemory(
      tasks, {Value(0, 64, {1, 2}), Value(1, 64, {3}), Value(2, 64, {3}), Value(3, 64, {})}, {});
  EXPECT_NE(plan.buffer_of[1], plan.buffer_of[2]);
  EXPECT_NE(plan.buffer_of[0], plan.buffer_of[1]);
  EXPECT_NE(plan.buffer_of[0], plan.buffer_of[2]);
  EXPECT_EQ(plan.buffer_of[3], plan.buffer_of[0]);
}

TEST(MemoryPlanTest, SlicesShareBuffersWhereTheyRunInTurn) {
  for (const bool in_turn : {false, true}) {
    TaskGraph tasks;
    for (int turn : {1, 1, 2, 2}) tasks.Add(false, 1, turn);
    tasks.AddEdge(0, 1);
    tasks.AddEdge(2, 3);
    if (in_turn) tasks.RunInTurn();
    tasks.Seal();
    const MemoryPlan plan = PlanMemory(
        tasks, {Value(0, 64, {1}), Value(1, 64, {}), Value(2, 64, {3}), Value(3, 64, {})}, {});
    EXPECT_EQ(plan.buffer_bytes.size(), in_turn ? 2u : 4u);
  }
}

TEST(MemoryPlanTest, PinnedValuesKeepTheirBuffer) {
  const MemoryPlan plan = PlanMemory(
      Chain(3), {Value(0, 64, {1}, /*pinned=*/true), Value(1, 64, {2}), Value(2, 64, {})}, {});
  EXPECT_EQ(plan.buffer_of, (std::vector<int>{0, 1, 2}));
}

TEST(MemoryPlanTest, SmallValuesDoNotOccupyLargeBuffersButSlightlyLargerOnesGrow) {
  const MemoryPlan plan = PlanMemory(
      Chain(4), {Value(0, 1000, {1}), Value(1, 1000, {2}), Value(2, 4, {3}), Value(3, 1200, {})},
      {});
  EXPECT_EQ(plan.buffer_of, (std::vector<int>{0, 1, 2, 0}));
  EXPECT_EQ(plan.buffer_bytes, (std::vector<size_t>{1200, 1000, 4}));
}

TEST(MemoryPlanTest, ExistingBuffersAreTakenButNeverGrow) {
  const MemoryPlan plan = PlanMemory(Chain(2), {Value(0, 100, {1}), Value(1, 100, {})}, {80, 120});
  EXPECT_EQ(plan.buffer_of, (std::vector<int>{1, 2}));
  EXPECT_EQ(plan.buffer_bytes, (std::vector<size_t>{80, 120, 100}));
}

}  // namespace
}  // namespace cosched
