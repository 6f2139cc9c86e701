// The executor on a real pool with tasks that only count: order, errors, shrinking, pausing.

#include "engine/session/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/base/random.h"

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
  void Note(int task) {
    const int run = ++runs_[static_cast<size_t>(task)];
    for (int next : tasks_->Successors(task)) {
      EXPECT_LT(runs_[static_cast<size_t>(next)].load(), run);
    }
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
    executor_->Run(queue_.get(), [this](int task) {
      EXPECT_NE(pool_->CurrentWorker(), -1);
      Note(task);
    });
    ExpectAllRan(run);
  }
}

TEST_P(ExecutorTest, ThrowsWhatATaskThrewAndRunsAgain) {
  const TaskGraph tasks = Ladder(3, 5);
  Create(&tasks);
  pool_->Resize(GetParam());
  for (int run = 0; run < 20; ++run) {
    const auto failing = [](int task) {
      if (task == 4) throw std::runtime_error("task 4");
    };
    EXPECT_THROW(executor_->Run(queue_.get(), failing), std::runtime_error);
  }
  executor_->Run(queue_.get(), [this](int task) { Note(task); });
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
    executor_->Run(queue_.get(), [this](int task) { Note(task); });
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
    executor_->Run(queue_.get(), [&](int task) {
      if (task == 1) {
        running.release();
        go_on.acquire();
      }
      Note(task);
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
  std::thread run([&] { executor_->Run(queue_.get(), [this](int task) { Note(task); }); });
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
    executor_->Run(queue_.get(), [&](int task) {
      if (task == 1 || task == 2) {
        if (arrived.fetch_add(1) == 0) {
          first_runs.release();
          second_runs.acquire();
        } else {
          second_runs.release();
        }
      }
      Note(task);
    });
  });
  first_runs.acquire();
  pool_->Resize(2);
  executor_->Nudge();
  run.join();
  ExpectAllRan(1);
}

TEST_F(ExecutorTest, WithoutTasksReturnsAtOnce) {
  TaskGraph tasks;
  tasks.Seal();
  Create(&tasks);
  executor_->Run(queue_.get(), [](int) {});
}

}  // namespace
}  // namespace cosched
