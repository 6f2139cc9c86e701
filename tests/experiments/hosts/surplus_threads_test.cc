#include "experiments/hosts/surplus_threads.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Threads = std::vector<ProcessSampler::Thread>;

// So many runnable compute threads.
Threads Runnable(int count) {
  Threads threads;
  for (int i = 0; i < count; ++i) {
    threads.push_back({.tid = 100 + i,
                       .compute = true,
                       .worker = PoolThread{PoolThread::Pool::kIntra, i},
                       .state = 'R'});
  }
  return threads;
}

void LetRun(Threads* threads, Duration time) {
  for (ProcessSampler::Thread& thread : *threads) thread.run_time += time;
}

// The verdict of the last of some looks; the threads run for `between` before each.
int After(int looks, SurplusThreads* surplus, Threads* threads, Duration between, int cores) {
  int verdict = 0;
  for (int i = 0; i < looks; ++i) {
    LetRun(threads, between);
    verdict = surplus->Look(*threads, cores);
  }
  return verdict;
}

// A look every 200 ms: 60 threads on one core have 3.3 ms each of it.
TEST(SurplusThreadsTest, CountsManyThreadsHoweverLittleEachOfThemRuns) {
  SurplusThreads surplus;
  Threads threads = Runnable(60);
  EXPECT_EQ(After(4, &surplus, &threads, microseconds(3300), 1), 60);
}

// 128 threads on one core and slices of 4 ms: at each look 50 others have had one.
TEST(SurplusThreadsTest, CountsThreadsThatTakeTurns) {
  SurplusThreads surplus;
  Threads threads = Runnable(128);
  size_t next = 0;
  int verdict = 0;
  for (int look = 0; look < 8; ++look) {
    for (int i = 0; i < 50; ++i) threads[next++ % threads.size()].run_time += milliseconds(4);
    verdict = surplus.Look(threads, 1);
  }
  EXPECT_EQ(verdict, 128);
}

TEST(SurplusThreadsTest, AsManyThreadsAsCoresAreNoSurplus) {
  SurplusThreads surplus;
  Threads threads = Runnable(4);
  EXPECT_EQ(After(20, &surplus, &threads, milliseconds(200), 4), 0);
  EXPECT_EQ(After(4, &surplus, &threads, milliseconds(200), 3), 4);
}

// They have left their pool and wait, runnable, for their turn to go to sleep.
TEST(SurplusThreadsTest, ThreadsThatWaitForTheirTurnAreNone) {
  SurplusThreads surplus;
  Threads threads = Runnable(8);
  EXPECT_EQ(After(50, &surplus, &threads, Duration(0), 1), 0);
  // At the first look the time of one that ran was not up to date.
  surplus.Forget();
  surplus.Look(threads, 1);
  LetRun(&threads, milliseconds(4));
  EXPECT_EQ(After(50, &surplus, &threads, Duration(0), 1), 0);
  LetRun(&threads, microseconds(300));
  EXPECT_EQ(After(5, &surplus, &threads, Duration(0), 1), 0);
}

TEST(SurplusThreadsTest, ThreadsOfTheIdleClassAndOthersAreNone) {
  SurplusThreads surplus;
  Threads threads = Runnable(8);
  for (size_t i = 1; i < 4; ++i) threads[i].idle_class = true;
  for (size_t i = 4; i < 8; ++i) threads[i].compute = false;
  EXPECT_EQ(After(20, &surplus, &threads, milliseconds(20), 1), 0);
}

TEST(SurplusThreadsTest, ThreadsThatSleepBetweenAreNone) {
  SurplusThreads surplus;
  Threads awake = Runnable(8);
  for (int look = 0; look < 20; ++look) {
    Threads threads = awake;
    for (size_t i = 1; i < threads.size(); ++i) threads[i].state = look % 3 == 2 ? 'S' : 'R';
    EXPECT_EQ(surplus.Look(threads, 1), 0);
    LetRun(&awake, milliseconds(2));
  }
}

TEST(SurplusThreadsTest, AnotherGrantBeginsAnew) {
  SurplusThreads surplus;
  Threads threads = Runnable(3);
  EXPECT_EQ(After(3, &surplus, &threads, milliseconds(60), 1), 0);
  surplus.Forget();
  EXPECT_EQ(After(3, &surplus, &threads, milliseconds(60), 1), 0);
  EXPECT_EQ(After(1, &surplus, &threads, milliseconds(60), 1), 3);
}

}  // namespace
}  // namespace cosched
