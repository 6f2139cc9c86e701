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

TEST(TaskGraphTest, AnEarlierTurnGoesBeforeACostlierPath) {
  TaskGraph tasks;
  tasks.Add(false, 5, /*turn=*/1);
  tasks.Add(false, 1, /*turn=*/0);
  tasks.Add(false, 2, /*turn=*/0);
  tasks.Seal();
  EXPECT_EQ(tasks.TaskOfRank(0), 2);
  EXPECT_EQ(tasks.TaskOfRank(1), 1);
  EXPECT_EQ(tasks.TaskOfRank(2), 0);
  EXPECT_EQ(tasks.Width(), 8.0 / 5);
}

TEST(TaskGraphTest, InTurnWaitsForTheWholeTurnBefore) {
  TaskGraph tasks;
  for (int turn : {1, 1, 1, 2, 2, 4, 0}) tasks.Add(false, 1, turn);
  tasks.AddEdge(0, 1);
  tasks.AddEdge(0, 2);
  tasks.AddEdge(3, 4);
  for (int end : {1, 2, 4, 5}) tasks.AddEdge(end, 6);
  tasks.RunInTurn();
  tasks.Seal();
  EXPECT_EQ(tasks.Predecessors(3), 2) << "both ends of the first turn";
  EXPECT_EQ(tasks.Predecessors(4), 1);
  EXPECT_EQ(tasks.Predecessors(5), 1);
  EXPECT_EQ(tasks.Order(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tasks.Width(), 7.0 / 6);
}

TEST(ReadyQueueTest, TheEndOfOneTurnIsNotTheEndOfTheRun) {
  TaskGraph tasks;
  tasks.Add(false, 1, /*turn=*/0);
  tasks.Add(false, 9, /*turn=*/1);
  tasks.Add(false, 1, /*turn=*/2);
  tasks.Seal();
  ReadyQueue queue(&tasks);
  queue.Start(/*brief=*/5);
  EXPECT_FALSE(queue.NearlyDone());
  EXPECT_EQ(queue.Take().task, 0);
  EXPECT_FALSE(queue.NearlyDone()) << "a long one is still to come";
  EXPECT_EQ(queue.Take().task, 1);
  EXPECT_FALSE(queue.NearlyDone());
  EXPECT_EQ(queue.Take().task, 2);
  EXPECT_TRUE(queue.NearlyDone());
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
  EXPECT_EQ(queue.Take().task, 0);
  EXPECT_EQ(queue.Take().task, -1);
  queue.Finish(0);
  EXPECT_EQ(queue.Take().task, 2);
  queue.Finish(2);
  EXPECT_EQ(queue.Take().task, 1);
  EXPECT_EQ(queue.Take().task, -1);
  queue.Finish(1);
  EXPECT_EQ(queue.Take().task, 3);
  EXPECT_FALSE(queue.Done());
  queue.Finish(3);
  EXPECT_TRUE(queue.Done());
}

TEST(ReadyQueueTest, TheCriticalPathGoesFirst) {
  const TaskGraph tasks = Diamond();
  ReadyQueue queue(&tasks);
  queue.Start();
  queue.Finish(queue.Take().task);
  EXPECT_EQ(queue.Offered(), 2);
  EXPECT_EQ(queue.Take().task, 2);
  EXPECT_EQ(queue.Offered(), 1);
  EXPECT_EQ(queue.Take().task, 1);
}

TEST(ReadyQueueTest, CheapTasksGoBeforeAllOthersAndAreNotOffered) {
  const TaskGraph tasks = Diamond(/*cheap_branch=*/true);
  ReadyQueue queue(&tasks);
  queue.Start();
  queue.Finish(queue.Take().task);
  EXPECT_EQ(queue.Offered(), 1);
  EXPECT_EQ(queue.Take().task, 1);
  EXPECT_EQ(queue.Take().task, 2);
}

TEST(ReadyQueueTest, StartsAnewAfterEachRun) {
  const TaskGraph tasks = Diamond();
  ReadyQueue queue(&tasks);
  for (int run = 0; run < 3; ++run) {
    queue.Start();
    int taken = 0;
    for (int task = queue.Take().task; task != -1; task = queue.Take().task) {
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
  queue.Finish(queue.Take().task);
  const int first = queue.Take().task;
  const int second = queue.Take().task;
  queue.Abort();
  queue.Finish(first);
  EXPECT_FALSE(queue.Done());
  queue.Finish(second);
  EXPECT_TRUE(queue.Done());
  EXPECT_FALSE(queue.HasReady());
  queue.Start();
  EXPECT_EQ(queue.Take().task, 0);
}

TEST(ReadyQueueTest, ATaskGivenBackGoesFirstAndFromItsPieceOn) {
  const TaskGraph tasks = Diamond(/*cheap_branch=*/true);
  ReadyQueue queue(&tasks);
  queue.Start();
  queue.Finish(queue.Take().task);
  queue.Finish(queue.Take().task);
  EXPECT_EQ(queue.Take(), (TaskAtPiece{2, 0}));
  EXPECT_FALSE(queue.HasReady());
  queue.GiveBack({2, 7});
  EXPECT_TRUE(queue.HasReady());
  EXPECT_EQ(queue.Offered(), 1);
  EXPECT_FALSE(queue.Done());
  EXPECT_EQ(queue.Take(), (TaskAtPiece{2, 7}));
  queue.Finish(2);
  EXPECT_EQ(queue.Take(), (TaskAtPiece{3, 0}));
}

TEST(ReadyQueueTest, ATaskGivenBackGoesBeforeCheapOnes) {
  const TaskGraph tasks = Diamond(/*cheap_branch=*/true);
  ReadyQueue queue(&tasks);
  queue.Start();
  const TaskAtPiece first = queue.Take();
  queue.Finish(first.task);
  const TaskAtPiece cheap = queue.Take();
  queue.GiveBack({queue.Take().task, 1});
  queue.GiveBack({cheap.task, 3});
  EXPECT_EQ(queue.Take(), (TaskAtPiece{cheap.task, 3}));
  EXPECT_EQ(queue.Take(), (TaskAtPiece{2, 1}));
}

TEST(ReadyQueueTest, AbortDropsWhatWasGivenBack) {
  const TaskGraph tasks = Diamond();
  ReadyQueue queue(&tasks);
  queue.Start();
  queue.Finish(queue.Take().task);
  const int first = queue.Take().task;
  const int second = queue.Take().task;
  queue.GiveBack({first, 1});
  queue.Abort();
  EXPECT_FALSE(queue.HasReady());
  EXPECT_FALSE(queue.Done());
  queue.GiveBack({second, 1});
  EXPECT_TRUE(queue.Done());
  queue.Start();
  EXPECT_EQ(queue.Take(), (TaskAtPiece{0, 0}));
  EXPECT_FALSE(queue.HasReady());
}

TEST(ReadyQueueTest, IsNearlyDoneWhenABriefPathIsLeft) {
  const TaskGraph tasks = Diamond();
  ReadyQueue queue(&tasks);
  queue.Start(3);
  EXPECT_FALSE(queue.NearlyDone());
  queue.Finish(queue.Take().task);
  EXPECT_EQ(queue.Take().task, 2);
  EXPECT_FALSE(queue.NearlyDone());  // The path 2, 3 costs 6.
  EXPECT_EQ(queue.Take().task, 1);
  EXPECT_TRUE(queue.NearlyDone());
  queue.Start(8);
  EXPECT_TRUE(queue.NearlyDone());
  queue.Start();
  EXPECT_FALSE(queue.NearlyDone());
}

TEST(ReadyQueueTest, WithoutTasksIsDoneAtOnce) {
  TaskGraph tasks;
  tasks.Seal();
  ReadyQueue queue(&tasks);
  queue.Start();
  EXPECT_TRUE(queue.Done());
  EXPECT_EQ(queue.Take().task, -1);
}

}  // namespace
}  // namespace cosched
