// The executor on a real pool with tasks that only count: order, errors, shrinking, pausing.

#include "engine/session/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "engine/pool/yield_request.h"

namespace cosched {
namespace {

// `width` chains of `length` tasks between one first and one last task.
TaskGraph Ladder(int width, int length) {
  TaskGraph tasks;
  tasks.Add(false, 1);
  std::vector<int> ends;
  for (int chain = 0; chain < width; ++chain) {
    int before = 0;
    for (int i = 0; i < length; ++i) {
      const int task = tasks.Add((chain + i) % 3 == 0, 1 + chain);
      tasks.AddEdge(before, task);
      before = task;
    }
    ends.push_back(before);
  }
  const int last = tasks.Add(false, 1);
  for (int end : ends) tasks.AddEdge(end, last);
  tasks.Seal();
  return tasks;
}

class ExecutorTest : public ::testing::TestWithParam<int> {
 protected:
  void Create(const TaskGraph* tasks) {
    tasks_ = tasks;
    pool_ = std::make_unique<MalleablePool>(MalleablePool::Options{.name = "inter", .capacity = 4});
    executor_ = std::make_unique<Executor>(pool_.get());
    queue_ = std::make_unique<ReadyQueue>(tasks);
    runs_ = std::vector<std::atomic<int>>(static_cast<size_t>(tasks->Size()));
  }
  void TearDown() override { pool_.reset(); }  // Before the executor, as the session does.

  // Counts the task's runs and sees that everything before it has finished as often.
  bool Note(int task) {
    const int run = ++runs_[static_cast<size_t>(task)];
    for (int next : tasks_->Successors(task)) {
      EXPECT_LT(runs_[static_cast<size_t>(next)].load(), run);
    }
    return false;
  }
  void ExpectAllRan(int times) {
    for (const auto& runs : runs_) EXPECT_EQ(runs.load(), times);
  }

  const TaskGraph* tasks_ = nullptr;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<MalleablePool> pool_;
  std::unique_ptr<ReadyQueue> queue_;
  std::vector<std::atomic<int>> runs_;
};

TEST_P(ExecutorTest, RunsEveryTaskOnceInOrder) {
  const TaskGraph tasks = Ladder(5, 20);
  Create(&tasks);
  pool_->Resize(GetParam());
  for (int run = 1; run <= 50; ++run) {
    executor_->Run(queue_.get(), [this](TaskAtPiece next) {
      EXPECT_NE(pool_->CurrentWorker(), -1);
      return Note(next.task);
    });
    ExpectAllRan(run);
  }
}

TEST_F(ExecutorTest, AWokenCallerAsksForACore) {
  const TaskGraph tasks = Ladder(1, 1);
  Create(&tasks);
  pool_->Resize(1);
  const uint32_t before = yield_requests;
  executor_->Run(queue_.get(), [](TaskAtPiece) { return false; });
  EXPECT_NE(yield_requests, before);
}

TEST_P(ExecutorTest, ThrowsWhatATaskThrewAndRunsAgain) {
  const TaskGraph tasks = Ladder(3, 5);
  Create(&tasks);
  pool_->Resize(GetParam());
  for (int run = 0; run < 20; ++run) {
    const auto failing = [](TaskAtPiece next) {
      if (next.task == 4) throw std::runtime_error("task 4");
      return false;
    };
    EXPECT_THROW(executor_->Run(queue_.get(), failing), std::runtime_error);
  }
  executor_->Run(queue_.get(), [this](TaskAtPiece next) { return Note(next.task); });
  ExpectAllRan(1);
}

TEST_P(ExecutorTest, SurvivesResizesAtRandom) {
  const TaskGraph tasks = Ladder(6, 30);
  Create(&tasks);
  pool_->Resize(GetParam());
  std::atomic<bool> done = false;
  std::thread resizer([&] {
    Random random(7);
    while (!done.load()) {
      pool_->Resize(static_cast<int>(random.Below(5)));
      executor_->Nudge();
      std::this_thread::yield();
    }
    pool_->Resize(GetParam());
  });
  for (int run = 1; run <= 100; ++run) {
    executor_->Run(queue_.get(), [this](TaskAtPiece next) { return Note(next.task); });
    ExpectAllRan(run);
  }
  done = true;
  resizer.join();
}

INSTANTIATE_TEST_SUITE_P(Workers, ExecutorTest, ::testing::Values(1, 2, 4));

TEST_F(ExecutorTest, PausesAtTheNextTaskAndGoesOnAfterwards) {
  const TaskGraph tasks = Ladder(1, 3);
  Create(&tasks);
  pool_->Resize(1);
  std::binary_semaphore running(0), go_on(0);
  std::thread run([&] {
    executor_->Run(queue_.get(), [&](TaskAtPiece next) {
      if (next.task == 1) {
        running.release();
        go_on.acquire();
      }
      return Note(next.task);
    });
  });
  running.acquire();
  pool_->Resize(0);
  go_on.release();
  while (!pool_->Settled()) std::this_thread::yield();
  EXPECT_EQ(runs_[1].load(), 1);
  EXPECT_EQ(runs_[2].load(), 0);
  pool_->Resize(2);
  run.join();
  ExpectAllRan(1);
}

TEST_F(ExecutorTest, StartsPausedIfThereIsNoWorker) {
  const TaskGraph tasks = Ladder(2, 2);
  Create(&tasks);
  std::thread run(
      [&] { executor_->Run(queue_.get(), [this](TaskAtPiece next) { return Note(next.task); }); });
  while (pool_->Queued() == 0) std::this_thread::yield();
  ExpectAllRan(0);
  pool_->Resize(1);
  run.join();
  ExpectAllRan(1);
}

// Two tasks meet, so both must run at once: the second worker was added while the first one was
// inside its task.
TEST_F(ExecutorTest, NudgeOffersReadyTasksToNewWorkers) {
  const TaskGraph tasks = Ladder(2, 1);
  Create(&tasks);
  pool_->Resize(1);
  std::binary_semaphore first_runs(0), second_runs(0);
  std::atomic<int> arrived = 0;
  std::thread run([&] {
    executor_->Run(queue_.get(), [&](TaskAtPiece next) {
      if (next.task == 1 || next.task == 2) {
        if (arrived.fetch_add(1) == 0) {
          first_runs.release();
          second_runs.acquire();
        } else {
          second_runs.release();
        }
      }
      return Note(next.task);
    });
  });
  first_runs.acquire();
  pool_->Resize(2);
  executor_->Nudge();
  run.join();
  ExpectAllRan(1);
}

// Task 1 has ten pieces; the worker becomes surplus inside the fourth.
TEST_F(ExecutorTest, PausesInTheMiddleOfATaskAndGoesOnAtItsNextPiece) {
  const TaskGraph tasks = Ladder(1, 2);
  Create(&tasks);
  pool_->Resize(1);
  std::binary_semaphore running(0), go_on(0);
  std::vector<int> pieces;
  std::thread run([&] {
    executor_->Run(queue_.get(), [&](TaskAtPiece next) {
      if (next.task != 1) return Note(next.task);
      pieces.push_back(next.piece);
      if (next.piece == 3) {
        running.release();
        go_on.acquire();
      }
      return next.piece < 9 || Note(next.task);
    });
  });
  running.acquire();
  pool_->Resize(0);
  go_on.release();
  while (!pool_->Settled()) std::this_thread::yield();
  EXPECT_EQ(pieces, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(pool_->Queued(), 1);
  pool_->Resize(1);
  run.join();
  EXPECT_EQ(pieces, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  ExpectAllRan(1);
}

// Two workers run tasks 1 and 3, and the second one leaves. What it leaves behind goes to the first
// one, before what has not begun.
TEST_F(ExecutorTest, AWorkerThatStaysTakesTheRestOfATask) {
  const TaskGraph tasks = Ladder(2, 2);
  Create(&tasks);
  pool_->Resize(2);
  std::atomic<int> arrived = 0;
  std::atomic<bool> shrunk = false;
  std::mutex mutex;
  std::vector<std::pair<int, TaskAtPiece>> log;  // Who ran what once the pool had shrunk.
  const auto is_first = [](TaskAtPiece next) { return next.task == 1 || next.task == 3; };
  std::thread run([&] {
    executor_->Run(queue_.get(), [&](TaskAtPiece next) {
      if (shrunk) {
        const std::lock_guard<std::mutex> lock(mutex);
        log.emplace_back(pool_->CurrentWorker(), next);
      }
      if (!is_first(next)) return Note(next.task);
      if (next.piece == 0) {
        ++arrived;
        while (!shrunk) std::this_thread::yield();
      }
      // The worker that stays ends its own task only when the other one has left.
      while (pool_->CurrentWorker() == 0 && !pool_->Settled()) std::this_thread::yield();
      return next.piece < 2 || Note(next.task);
    });
  });
  while (arrived < 2) std::this_thread::yield();
  pool_->Resize(1);
  shrunk = true;
  run.join();
  ExpectAllRan(1);
  ASSERT_GE(log.size(), 5u);
  for (const auto& [worker, next] : log) EXPECT_EQ(worker, 0);
  // The worker's own task's last two pieces, those of the other one, then what was not begun.
  EXPECT_EQ(log[0].second.piece, 1);
  EXPECT_EQ(log[1].second.piece, 2);
  EXPECT_EQ(log[2].second.piece, 1);
  EXPECT_EQ(log[3].second.piece, 2);
  EXPECT_NE(log[1].second.task, log[2].second.task);
  EXPECT_EQ(log[4].second.piece, 0);
}

TEST_P(ExecutorTest, RunsEveryPieceOnceInOrderWhileResizedAtRandom) {
  const TaskGraph tasks = Ladder(4, 10);
  Create(&tasks);
  pool_->Resize(GetParam());
  constexpr int kPieces = 5;
  std::vector<std::atomic<int>> next_piece(static_cast<size_t>(tasks.Size()));
  std::atomic<bool> done = false;
  std::thread resizer([&] {
    Random random(11);
    while (!done.load()) {
      pool_->Resize(static_cast<int>(random.Below(4)));
      executor_->Nudge();
      std::this_thread::yield();
    }
    pool_->Resize(GetParam());
  });
  for (int run = 1; run <= 50; ++run) {
    executor_->Run(queue_.get(), [&](TaskAtPiece next) {
      std::atomic<int>& expected = next_piece[static_cast<size_t>(next.task)];
      EXPECT_EQ(next.piece, expected.fetch_add(1));
      if (next.piece + 1 < kPieces) return true;
      expected = 0;
      return Note(next.task);
    });
    ExpectAllRan(run);
  }
  done = true;
  resizer.join();
}

TEST_F(ExecutorTest, ATaskThatThrowsInAPieceStartsAnewInTheNextRun) {
  const TaskGraph tasks = Ladder(2, 3);
  Create(&tasks);
  pool_->Resize(2);
  const auto failing = [](TaskAtPiece next) {
    if (next.piece == 2) throw std::runtime_error("piece 2");
    return true;
  };
  EXPECT_THROW(executor_->Run(queue_.get(), failing), std::runtime_error);
  std::atomic<int> pieces = 0;
  executor_->Run(queue_.get(), [&](TaskAtPiece next) {
    ++pieces;
    return next.piece < 1 || Note(next.task);
  });
  ExpectAllRan(1);
  EXPECT_EQ(pieces.load(), 2 * tasks.Size());
}

TEST_F(ExecutorTest, CallsATriggerAtItsTaskOnTheWorkerThatBeginsIt) {
  const TaskGraph tasks = Ladder(1, 8);  // 10 tasks.
  Create(&tasks);
  pool_->Resize(1);
  int begun = 0;
  std::vector<std::pair<int, int>> calls;  // (trigger, tasks begun)
  const auto trigger = [&](int64_t count, int name) {
    executor_->AtTask(count, [&, name] {
      EXPECT_EQ(pool_->CurrentWorker(), 0);
      calls.emplace_back(name, begun);
    });
  };
  trigger(13, 1);
  trigger(4, 2);
  trigger(4, 3);
  const auto run = [&] {
    executor_->Run(queue_.get(), [&](TaskAtPiece next) {
      if (next.piece == 0) ++begun;
      return next.piece < 2;
    });
  };
  run();
  EXPECT_EQ(executor_->TasksStarted(), 10);
  EXPECT_EQ(executor_->PiecesRun(), 30);
  run();
  trigger(5, 4);  // Has passed: the next task.
  run();
  EXPECT_EQ(calls, (std::vector<std::pair<int, int>>{{2, 3}, {3, 3}, {1, 12}, {4, 20}}));
}

TEST_F(ExecutorTest, WithoutTasksReturnsAtOnce) {
  TaskGraph tasks;
  tasks.Seal();
  Create(&tasks);
  int runs = 0;  // Nobody else counts: no worker is active, so waiting for one would be for ever.
  executor_->Run(queue_.get(), [&runs](TaskAtPiece) {
    ++runs;
    return false;
  });
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(pool_->Queued(), 0);
}

}  // namespace
}  // namespace cosched
