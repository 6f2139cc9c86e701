#include "engine/session/ready_queue.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

// 0 feeds 1 and 2, which both feed 3; 2 is the costly branch.
TaskGraph Diamond(bool cheap_branch = false) {
  TaskGraph tasks;
  tasks.Add(false, 1);
  tasks.Add(cheap_branch, 1);
  tasks.Add(false, 5);
  tasks.Add(false, 1);
  tasks.AddEdge(0, 1);
  tasks.AddEdge(0, 2);
  tasks.AddEdge(0, 2);
  tasks.AddEdge(1, 3);
  tasks.AddEdge(2, 3);
  tasks.Seal();
  return tasks;
}

TEST(TaskGraphTest, CountsAnEdgeOnce) {
  const TaskGraph tasks = Diamond();
  EXPECT_EQ(tasks.Predecessors(2), 1);
  EXPECT_EQ(tasks.Predecessors(3), 2);
  EXPECT_EQ(tasks.Successors(0).size(), 2u);
}

TEST(TaskGraphTest, RanksByTheCostliestPathToTheEnd) {
  const TaskGraph tasks = Diamond();
  EXPECT_EQ(tasks.Rank(0), 0);
  EXPECT_EQ(tasks.Rank(2), 1);
  EXPECT_EQ(tasks.Rank(1), 2);
  EXPECT_EQ(tasks.TaskOfRank(3), 3);
}

TEST(TaskGraphTest, RefusesACycle) {
  TaskGraph tasks;
  tasks.Add(false, 1);
  tasks.Add(false, 1);
  tasks.AddEdge(0, 1);
  tasks.AddEdge(1, 0);
  EXPECT_DEATH(tasks.Seal(), "cycle");
}

TEST(ReadyQueueTest, TasksBecomeReadyWhenAllTheyNeedHasFinished) {
  const TaskGraph tasks = Diamond();
  ReadyQueue queue(&tasks);
  queue.Start();
  EXPECT_EQ(queue.Take(), 0);
  EXPECT_EQ(queue.Take(), -1);
  queue.Finish(0);
  EXPECT_EQ(queue.Take(), 2);
  queue.Finish(2);
  EXPECT_EQ(queue.Take(), 1);
  EXPECT_EQ(queue.Take(), -1);
  queue.Finish(1);
  EXPECT_EQ(queue.Take(), 3);
  EXPECT_FALSE(queue.Done());
  queue.Finish(3);
  EXPECT_TRUE(queue.Done());
}

TEST(ReadyQueueTest, TheCriticalPathGoesFirst) {
  const TaskGraph tasks = Diamond();
  ReadyQueue queue(&tasks);
  queue.Start();
  queue.Finish(queue.Take());
  EXPECT_EQ(queue.Offered(), 2);
  EXPECT_EQ(queue.Take(), 2);
  EXPECT_EQ(queue.Offered(), 1);
  EXPECT_EQ(queue.Take(), 1);
}

TEST(ReadyQueueTest, CheapTasksGoBeforeAllOthersAndAreNotOffered) {
  const TaskGraph tasks = Diamond(/*cheap_branch=*/true);
  ReadyQueue queue(&tasks);
  queue.Start();
  queue.Finish(queue.Take());
  EXPECT_EQ(queue.Offered(), 1);
  EXPECT_EQ(queue.Take(), 1);
  EXPECT_EQ(queue.Take(), 2);
}

TEST(ReadyQueueTest, StartsAnewAfterEachRun) {
  const TaskGraph tasks = Diamond();
  ReadyQueue queue(&tasks);
  for (int run = 0; run < 3; ++run) {
    queue.Start();
    int taken = 0;
    for (int task = queue.Take(); task != -1; task = queue.Take()) {
      queue.Finish(task);
      ++taken;
    }
    EXPECT_EQ(taken, 4);
    EXPECT_TRUE(queue.Done());
  }
}

TEST(ReadyQueueTest, AbortWaitsForRunningTasksOnly) {
  const TaskGraph tasks = Diamond();
  ReadyQueue queue(&tasks);
  queue.Start();
  queue.Finish(queue.Take());
  const int first = queue.Take();
  const int second = queue.Take();
  queue.Abort();
  queue.Finish(first);
  EXPECT_FALSE(queue.Done());
  queue.Finish(second);
  EXPECT_TRUE(queue.Done());
  EXPECT_FALSE(queue.HasReady());
  queue.Start();
  EXPECT_EQ(queue.Take(), 0);
}

TEST(ReadyQueueTest, WithoutTasksIsDoneAtOnce) {
  TaskGraph tasks;
  tasks.Seal();
  ReadyQueue queue(&tasks);
  queue.Start();
  EXPECT_TRUE(queue.Done());
  EXPECT_EQ(queue.Take(), -1);
}

}  // namespace
}  // namespace cosched
