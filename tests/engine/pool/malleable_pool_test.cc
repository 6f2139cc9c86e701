// What MalleablePool promises at every size and while it is resized: each task once, nothing lost,
// nobody stranded.

#include "engine/pool/malleable_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "tests/engine/base/few_threads.h"
#include "tests/engine/pool/pool_resizers.h"

namespace cosched {
namespace {

// Runs loops of many lengths and expects each task exactly once.
void ExpectEveryTaskOnce(MalleablePool* pool, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const int tasks = 1 + (round * 37) % 200;
    std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
    pool->ParallelFor(tasks, [&](int i) { ++runs[static_cast<size_t>(i)]; });
    for (const std::atomic<int>& count : runs) ASSERT_EQ(count.load(), 1);
  }
}

class MalleablePoolSizes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, MalleablePoolSizes, testing::Values(0, 1, 2, 4, 8, 64));

TEST_P(MalleablePoolSizes, LoopRunsEveryTaskOnce) {
  const auto pool = MakePool(GetParam());
  pool->Resize(GetParam());
  ExpectEveryTaskOnce(pool.get(), 200);
  WaitSettled(*pool);
  EXPECT_EQ(pool->Active(), GetParam());
  ExpectEveryTaskOnce(pool.get(), 200);
}

TEST_P(MalleablePoolSizes, LoopRunsEveryTaskOnceWhileResized) {
  const auto pool = MakePool(GetParam());
  const Resizers resizers(pool.get(), 3, 1);
  do {
    ASSERT_NO_FATAL_FAILURE(ExpectEveryTaskOnce(pool.get(), 200));
  } while (!resizers.ResizedOften());
}

TEST_P(MalleablePoolSizes, ConcurrentAndNestedLoopsRunEveryTaskOnceWhileResized) {
  const auto pool = MakePool(GetParam());
  const Resizers resizers(pool.get(), 2, 2);
  std::vector<std::thread> callers;
  std::atomic<int64_t> runs{0}, rounds{0};
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      do {
        pool->ParallelFor(7, [&](int) {
          pool->ParallelFor(5, [&](int) { pool->ParallelFor(3, [&](int) { ++runs; }); });
        });
      } while (++rounds < 30 || !resizers.ResizedOften());
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(runs.load(), rounds.load() * 7 * 5 * 3);
}

TEST_P(MalleablePoolSizes, ClosuresRunOnceWhileResized) {
  for (WhenEmpty when_empty : {WhenEmpty::kRunInCaller, WhenEmpty::kQueue}) {
    const auto pool = MakePool(GetParam(), when_empty);
    std::atomic<int> runs{0}, scheduled{0};
    {
      const Resizers resizers(pool.get(), 2, 3);
      std::vector<std::thread> callers;
      for (int caller = 0; caller < 2; ++caller) {
        callers.emplace_back([&] {
          while (scheduled < 1000 || !resizers.ResizedOften()) {
            ++scheduled;
            pool->Schedule([&] { ++runs; });
            if (scheduled - runs > 100) std::this_thread::yield();
          }
        });
      }
      for (std::thread& caller : callers) caller.join();
    }
    if (GetParam() == 0 && when_empty == WhenEmpty::kQueue) {
      EXPECT_EQ(pool->Queued(), scheduled.load());
      continue;
    }
    // kRunInCaller must finish them whatever size the resizers left; kQueue needs a worker.
    if (when_empty == WhenEmpty::kQueue) pool->Resize(1);
    WaitUntil(runs, scheduled);
    EXPECT_EQ(runs.load(), scheduled.load());
  }
}

// An Eigen caller blocks until its closures ran: they must run even if every worker leaves at that
// moment, be it still on its way (even rounds) or in its place.
TEST_P(MalleablePoolSizes, BlockedCallerIsNeverStrandedByShrinkToZero) {
  const auto pool = MakePool(GetParam());
  for (int round = 0; round < 300; ++round) {
    pool->Resize(GetParam());
    if (round % 2 == 1) WaitSettled(*pool);
    const auto runs = std::make_shared<std::atomic<int>>(0);  // Outlives a stranded closure.
    for (int i = 0; i < 4; ++i) {
      if (i == round % 4) pool->Resize(GetParam() / 3);
      pool->Schedule([runs] { ++*runs; });
    }
    pool->Resize(0);
    ASSERT_TRUE(HoldsInTime([&] { return *runs >= 4; })) << *runs << " of 4 ran, round " << round;
    ASSERT_EQ(*runs, 4);
    ASSERT_EQ(pool->Queued(), 0);
  }
}

TEST_P(MalleablePoolSizes, SumsAreBitIdenticalWhileResized) {
  constexpr int kTasks = 64, kValues = 200;
  const auto sum = [&](MalleablePool* pool) {
    std::vector<double> partial(kTasks);
    pool->ParallelFor(kTasks, [&](int task) {
      Random random(static_cast<uint64_t>(task));
      for (int i = 0; i < kValues; ++i) partial[static_cast<size_t>(task)] += random.Normal(0, 1e6);
    });
    return std::accumulate(partial.begin(), partial.end(), 0.0);
  };
  const auto none = MakePool(0);
  const double expected = sum(none.get());
  const auto pool = MakePool(GetParam());
  const Resizers resizers(pool.get(), 2, 4);
  do {
    ASSERT_EQ(sum(pool.get()), expected);
  } while (!resizers.ResizedOften());
}

TEST_P(MalleablePoolSizes, SettlesAtEveryTargetAndReportsOnce) {
  const auto pool = MakePool(GetParam());
  std::mutex mutex;
  std::condition_variable reported;
  int grows = 0, others = 0;
  pool->OnSettled([&](std::chrono::nanoseconds since, bool grew) {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_GE(since.count(), 0);
    ++(grew ? grows : others);
    reported.notify_one();
  });
  EXPECT_TRUE(pool->Settled());
  for (int round = 0; round < 3; ++round) {
    for (int size : {GetParam(), GetParam() / 2, 0}) {
      pool->Resize(size);
      WaitSettled(*pool);
      EXPECT_EQ(pool->Active(), size);
      EXPECT_EQ(pool->Target(), size);
    }
  }
  // Settled() is true a moment before its report.
  std::unique_lock<std::mutex> lock(mutex);
  reported.wait(lock, [&] { return grows + others >= 9; });
  EXPECT_EQ(grows, GetParam() > 0 ? 3 : 0);
  EXPECT_EQ(grows + others, 9);
}

TEST(MalleablePoolTest, GrowJoinsARunningLoop) {
  const auto pool = MakePool(2);
  // Each task waits for the two others, so the loop ends only if two workers join it after it began
  // without any.
  std::latch together(3);
  std::atomic<bool> resized{false};
  pool->ParallelFor(3, [&](int) {
    if (!resized.exchange(true)) pool->Resize(2);
    together.arrive_and_wait();
  });
  EXPECT_TRUE(resized);
}

TEST(MalleablePoolTest, SurplusWorkerLeavesAfterItsTaskAndTheRestIsRunByOthers) {
  const auto pool = MakePool(1);
  pool->Resize(1);
  WaitSettled(*pool);
  std::atomic<int> by_worker{0}, by_caller{0};
  std::atomic<bool> worker_in{false}, shrunk{false};
  pool->ParallelFor(50, [&](int) {
    if (pool->CurrentWorker() == 0) {
      EXPECT_FALSE(pool->OnSurplusWorker());
      worker_in = true;
      while (!shrunk) std::this_thread::yield();
      EXPECT_TRUE(pool->OnSurplusWorker());
      ++by_worker;
      return;
    }
    if (!shrunk) {
      while (!worker_in) std::this_thread::yield();
      pool->Resize(0);
      EXPECT_FALSE(pool->Settled());  // The worker is held in its task.
      shrunk = true;
    }
    ++by_caller;
  });
  EXPECT_EQ(by_worker, 1);
  EXPECT_EQ(by_caller, 49);
  WaitSettled(*pool);
  EXPECT_EQ(pool->Active(), 0);
}

TEST(MalleablePoolTest, ResizeIsSettledOnlyWhenItsWakeupsArePosted) {
  const auto pool = MakePool(2);
  MalleablePool::Wakeups grow = pool->BeginResize(2);
  MalleablePool::Wakeups shrink = pool->BeginResize(1);  // Wakes nobody: both are on their way.
  MalleablePool::Wakeups all;
  all.Add(shrink);
  all.Add(grow);
  EXPECT_FALSE(pool->Settled());
  EXPECT_EQ(pool->Active(), 0);
  all.Post();
  WaitSettled(*pool);
  EXPECT_EQ(pool->Active(), 1);
  pool->Resize(2);
  WaitSettled(*pool);
  EXPECT_EQ(pool->Active(), 2);
}

TEST(MalleablePoolTest, PauseHoldsQueuedClosuresAndResumeRunsThemInOrder) {
  const auto pool = MakePool(1, WhenEmpty::kQueue);
  pool->Resize(1);
  pool->Resize(0);
  WaitSettled(*pool);
  std::vector<int> order;
  std::atomic<int> runs{0};
  for (int i = 0; i < 10; ++i) {
    pool->Schedule([&, i] {
      order.push_back(i);
      ++runs;
    });
  }
  EXPECT_EQ(pool->Queued(), 10);
  EXPECT_EQ(runs, 0);
  pool->Resize(1);
  WaitUntil(runs, 10);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(MalleablePoolTest, LastLeavingWorkerOfARunInCallerPoolFinishesTheQueue) {
  const auto pool = MakePool(1);
  pool->Resize(1);
  WaitSettled(*pool);
  std::latch begun(1), shrunk(1), done(11);
  std::atomic<bool> asked_to_leave{false};
  pool->Schedule([&] {
    begun.count_down();
    shrunk.wait();
    done.count_down();
  });
  begun.wait();
  for (int i = 0; i < 10; ++i) {
    pool->Schedule([&] {
      if (pool->OnSurplusWorker()) asked_to_leave = true;
      done.count_down();
    });
  }
  pool->Resize(0);
  shrunk.count_down();
  done.wait();
  EXPECT_FALSE(asked_to_leave);  // The task would reschedule its work to nobody.
  WaitSettled(*pool);
}

TEST(MalleablePoolTest, RunOneRunsTheOldestClosureInTheCaller) {
  const auto pool = MakePool(0, WhenEmpty::kQueue);
  std::vector<int> order;
  EXPECT_FALSE(pool->RunOne());
  for (int i = 0; i < 3; ++i) pool->Schedule([&, i] { order.push_back(i); });
  while (pool->RunOne()) {
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(MalleablePoolTest, KnowsItsWorkers) {
  const auto pool = MakePool(2);
  const auto other = MakePool(1);
  EXPECT_EQ(pool->CurrentWorker(), -1);
  EXPECT_FALSE(pool->OnSurplusWorker());
  pool->Resize(2);
  ASSERT_EQ(pool->ThreadIds().size(), 2u);
  EXPECT_NE(pool->ThreadIds()[0], pool->ThreadIds()[1]);
  std::latch done(1);
  WaitSettled(*pool);
  pool->Schedule([&] {
    EXPECT_GE(pool->CurrentWorker(), 0);
    EXPECT_EQ(pool->ThreadIds()[static_cast<size_t>(pool->CurrentWorker())], gettid());
    EXPECT_EQ(other->CurrentWorker(), -1);
    EXPECT_FALSE(other->OnSurplusWorker());
    done.count_down();
  });
  done.wait();
}

TEST(MalleablePoolTest, SizesOutsideTheCapacityAreClamped) {
  const auto pool = MakePool(2);
  pool->Resize(1000);
  EXPECT_EQ(pool->Target(), 2);
  pool->Resize(-5);
  EXPECT_EQ(pool->Target(), 0);
}

// A pool whose idle workers join the loops of another.
struct LendingPools {
  LendingPools(int helpers, int workers)
      : loops(MakePool(std::max(helpers, 1))),
        lending(std::make_unique<MalleablePool>(
            MalleablePool::Options{.name = "lend", .capacity = workers, .lends_to = loops.get()})) {
    loops->Resize(helpers);
    lending->Resize(workers);
  }
  std::unique_ptr<MalleablePool> loops, lending;
};

// A worker that is going to sleep may miss a loop, so they have as many loops as they need.
TEST(MalleablePoolTest, IdleWorkersOfALendingPoolJoinItsLoops) {
  LendingPools pools(/*helpers=*/0, /*workers=*/3);
  pools.loops->SetGuests(3);
  std::atomic<unsigned> seen{0};
  EXPECT_TRUE(HoldsInTime([&] {
    pools.loops->ParallelFor(16, [&](int) {
      const int worker = pools.lending->CurrentWorker();
      if (worker >= 0) seen |= 1u << worker;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    });
    return seen.load() == 0b111;
  })) << "workers that came: "
      << seen;
}

TEST(MalleablePoolTest, NoMoreGuestsThanAllowed) {
  LendingPools pools(/*helpers=*/0, /*workers=*/4);
  for (const int limit : {0, 1, 2}) {
    pools.loops->SetGuests(limit);
    std::atomic<int> inside{0}, most{0};
    for (int round = 0; round < 100; ++round) {
      pools.loops->ParallelFor(16, [&](int) {
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --inside;
      });
    }
    EXPECT_LE(most.load(), 1 + limit);
  }
}

TEST(MalleablePoolTest, ALentWorkerLeavesForAClosureOfItsOwn) {
  LendingPools pools(/*helpers=*/0, /*workers=*/1);
  pools.loops->SetGuests(1);
  std::atomic<bool> lent{false}, scheduled{false}, closure_ran{false}, left{false};
  std::atomic<int> begun_since{0};  // Tasks, by the lent worker, before its closure.
  while (!scheduled) {
    pools.loops->ParallelFor(1000, [&](int task) {
      if (pools.lending->CurrentWorker() >= 0) {
        lent = true;
        if (scheduled && !closure_ran) ++begun_since;
      } else if (lent && task < 500 && !scheduled) {  // By the caller: in the middle of its loop.
        pools.lending->Schedule([&] { closure_ran = true; });
        scheduled = true;
        left = HoldsInTime([&] { return closure_ran.load(); });
      }
      std::this_thread::sleep_for(std::chrono::microseconds(1));
    });
    lent = false;
  }
  EXPECT_TRUE(left);
  EXPECT_LT(begun_since, 100) << "it stayed for the rest of the loop";
}

TEST(MalleablePoolTest, LendingLosesNothingWhileBothPoolsAreResized) {
  LendingPools pools(/*helpers=*/2, /*workers=*/3);
  pools.loops->SetGuests(4);
  const Resizers loops(pools.loops.get(), 1, 11), lending(pools.lending.get(), 1, 12);
  std::vector<std::atomic<int>> runs(64);
  int rounds = 0;
  for (; rounds < 500 || !lending.ResizedOften(); ++rounds) {
    pools.loops->ParallelFor(64, [&](int i) { ++runs[static_cast<size_t>(i)]; });
  }
  for (const auto& run : runs) EXPECT_EQ(run.load(), rounds);
}

TEST(MalleablePoolTest, DestructionDropsQueuedClosuresAndFreesThem) {
  const auto held = std::make_shared<int>(1);
  {
    const auto pool = MakePool(1, WhenEmpty::kQueue);
    pool->Schedule([held] { ADD_FAILURE() << "no worker was ever active"; });
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(MalleablePoolTest, DestructionRightAfterResizeIsClean) {
  for (int round = 0; round < 50; ++round) {
    std::vector<int> threads;
    {
      const auto pool = MakePool(4);
      pool->Resize(4);
      threads = pool->ThreadIds();
      if (round % 2 == 0) pool->Resize(1);
    }
    for (const int thread : threads) {
      const std::string entry = "/proc/self/task/" + std::to_string(thread);
      ASSERT_TRUE(HoldsInTime([&] { return access(entry.c_str(), F_OK) != 0; }))
          << "thread " << thread << " outlives its pool";
    }
  }
}

int Threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

TEST(MalleablePoolTest, ThreadsAreMadeWhenTheyAreFirstWanted) {
  const int before = Threads();
  const auto pool = MakePool(64);
  EXPECT_EQ(Threads(), before);
  pool->Resize(3);
  pool->Resize(2);
  EXPECT_EQ(Threads(), before + 3);
  EXPECT_EQ(pool->ThreadIds().size(), 3u);
  pool->Prepare(5);
  EXPECT_EQ(Threads(), before + 5);
  EXPECT_EQ(pool->Target(), 2);
}

// A pool of 64 where a process may have 11 threads: 0 = its error says how many, and why, and it
// goes on with those that it has.
int WhatAPoolOf64Does(MalleablePool* lends_to) {
  MalleablePool pool({.name = "test", .capacity = 64, .lends_to = lends_to});
  pool.Resize(2);
  try {
    pool.Resize(64);
    return 1;
  } catch (const std::system_error& error) {
    if (pool.Target() != 2) return 4;
    std::atomic<int> done{0};
    pool.ParallelFor(1000, [&done](int) { ++done; });
    if (done != 1000) return 5;
    std::fprintf(stderr, "%s\n", error.what());
    const std::string text = error.what();
    const bool says_how_many = text.find("of the 64 threads of the test pool") != std::string::npos;
    const bool says_why = text.find("ulimit -u 11") != std::string::npos &&
                          text.find("Resource temporarily unavailable") != std::string::npos;
    return says_how_many && says_why ? 0 : 2;
  }
}

TEST(MalleablePoolTest, ThreadsThatCantBeStartedAreAnErrorWithItsReason) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user of few threads";
  EXPECT_EQ(WithFewThreads(11, [] { return WhatAPoolOf64Does(nullptr); }), 0);
}

TEST(MalleablePoolTest, PoolThatItWouldLendToGoesOn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user of few threads";
  EXPECT_EQ(WithFewThreads(11,
                           [] {
                             const auto pool = MakePool(2);
                             const int result = WhatAPoolOf64Does(pool.get());
                             pool->Resize(2);
                             std::atomic<int> done{0};
                             pool->SetGuests(2);
                             pool->ParallelFor(1000, [&done](int) { ++done; });
                             return done == 1000 ? result : 3;
                           }),
            0);
}

}  // namespace
}  // namespace cosched
