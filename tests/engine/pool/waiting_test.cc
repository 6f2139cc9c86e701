// What threads of the pools tell of their waiting. Nothing here is a matter of speed: CPU times are
// held against the kernel's own clock of the same thread.

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "engine/pool/loop.h"
#include "engine/pool/malleable_pool.h"
#include "engine/pool/run_on_worker.h"
#include "engine/pool/spin.h"
#include "engine/pool/spin_budget.h"
#include "engine/pool/thread_pools.h"
#include "engine/pool/yield_request.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

template <typename Predicate>
void Await(Predicate predicate) {
  while (!predicate()) std::this_thread::sleep_for(milliseconds(1));
}

// CPU time of a living thread of this process, so far.
nanoseconds CpuTimeOf(int tid) {
  // As glibc's pthread_getcpuclockid makes it of a thread's id.
  const clockid_t clock = static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3 | 6u);
  timespec time{};
  EXPECT_EQ(clock_gettime(clock, &time), 0);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

TEST(WaitingTest, ThreadsTellWhetherTheyHaveWork) {
  std::array<WorkRecord, 3> inter;  // The first is the pool's.
  std::array<WorkRecord, 2> intra;
  ThreadPools pools({2, 2}, ThreadPools::Binding::kNone, nullptr,
                    {.spin = milliseconds(0), .inter = inter, .intra = intra});
  const auto works = [](const WorkRecord& record) { return record.without_work == 0; };
  EXPECT_FALSE(works(inter[1]) || works(inter[2]) || works(intra[1])) << "parked";
  pools.Resize({0}, {1, 2});
  ASSERT_TRUE(pools.WaitSettled(std::chrono::hours(1)));
  EXPECT_FALSE(works(inter[1]) || works(intra[1])) << "awake, without work";
  RunOnWorker(&pools.inter(), [&] {
    EXPECT_TRUE(works(inter[1]));
    std::atomic<bool> helped{false};
    pools.intra().ParallelFor(2, [&](int) {
      if (pools.intra().CurrentWorker() == -1) return Await([&] { return helped.load(); });
      EXPECT_TRUE(works(inter[1]) && works(intra[1]));
      helped = true;
      Await([&] { return !works(inter[1]); });  // The worker waits for this task.
    });
    EXPECT_TRUE(works(inter[1]));
  });
  Await([&] { return !works(inter[1]) && !works(intra[1]); });
  EXPECT_FALSE(works(inter[2])) << "never needed";
}

TEST(WaitingTest, PoolsTellOfWorkThatNobodyHasTaken) {
  std::array<WorkRecord, 2> records;
  MalleablePool pool({.name = "test", .capacity = 1, .records = records});
  pool.ParallelFor(3, [&](int task) { EXPECT_EQ(records[0].untaken, 1) << task; });
  EXPECT_EQ(records[0].untaken, 0);
  std::atomic<bool> done{false};
  pool.Schedule([&] {
    EXPECT_EQ(records[0].untaken, 0) << "taken";
    done = true;
  });
  EXPECT_EQ(records[0].untaken, 1) << "nobody is awake";
  pool.Resize(1);
  Await([&] { return done.load(); });
}

// Who looks twice knows whether it saw one task.
TEST(WaitingTest, EachTaskHasANumber) {
  std::array<WorkRecord, 2> records, others;
  MalleablePool loops({.name = "loops", .capacity = 1, .records = others});
  MalleablePool pool({.name = "test", .capacity = 1, .records = records});
  pool.Resize(1);
  std::atomic<int> done{0};
  for (uint32_t closure = 1; closure <= 3; ++closure) {
    pool.Schedule([&, closure] {
      EXPECT_EQ(records[1].tasks, 5 * closure - 4) << "the closure is one itself";
      loops.ParallelFor(4, [&, closure](int task) {
        EXPECT_EQ(records[1].tasks, 5 * closure - 3 + static_cast<uint32_t>(task));
      });
      ++done;
    });
  }
  Await([&] { return done == 3; });
  EXPECT_EQ(others[1].tasks, 0u) << "had no worker";
}

TEST(WaitingTest, SpinningIsCpuTimeOfThoseWhoSpin) {
  std::array<WorkRecord, 2> records;
  MalleablePool pool({.name = "test",
                      .capacity = 1,
                      .when_empty = MalleablePool::WhenEmpty::kRunInCaller,
                      .spin = milliseconds(300),
                      .records = records});
  pool.Resize(1);
  const int tid = pool.ThreadIds()[0];
  // When it has looked in vain and sleeps: it has done nothing else.
  Await([&] { return nanoseconds(records[1].spin_time) > CpuTimeOf(tid) / 2; });
  const nanoseconds spun(records[1].spin_time);
  EXPECT_LE(spun, CpuTimeOf(tid));
}

// On one core only one of them runs at a time: what passes while a spinner waits for its turn is
// not its own.
TEST(WaitingTest, WaitingForACoreIsNoSpinning) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  constexpr int kSpinners = 8;
  std::array<WorkRecord, kSpinners + 1> records;
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // The pool's threads inherit it.
  MalleablePool pool({.name = "test",
                      .capacity = kSpinners,
                      .when_empty = MalleablePool::WhenEmpty::kRunInCaller,
                      .spin = milliseconds(200),
                      .records = records});
  pool.Resize(kSpinners);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  const std::vector<int> tids = pool.ThreadIds();
  for (size_t i = 0; i < kSpinners; ++i) {
    Await([&] { return nanoseconds(records[i + 1].spin_time) > CpuTimeOf(tids[i]) / 2; });
    const nanoseconds spun(records[i + 1].spin_time);
    EXPECT_LE(spun, CpuTimeOf(tids[i])) << i;
  }
}

TEST(WaitingTest, WithoutSpinningThreadsSleepAtOnce) {
  int looks = 0;
  EXPECT_FALSE(SpinUntil(steady_clock::now(), nanoseconds(0), Yields::kOnRequest, nullptr,
                         [&] { return ++looks > 1; }));
  EXPECT_EQ(looks, 1);
  std::array<WorkRecord, 2> records;
  MalleablePool pool({.name = "test",
                      .capacity = 1,
                      .when_empty = MalleablePool::WhenEmpty::kRunInCaller,
                      .spin = nanoseconds(0),
                      .records = records});
  pool.Resize(1);
  std::atomic<int> done{0};
  for (int loop = 0; loop < 200; ++loop) pool.ParallelFor(4, [&](int) { ++done; });
  EXPECT_EQ(done, 800);
}

TEST(WaitingTest, LooksInVainBecomeShorterUntilOneWouldHaveHelped) {
  constexpr auto kMost = std::chrono::microseconds(50);
  SpinBudget budget;
  EXPECT_EQ(budget.Of(kMost), kMost);
  budget.Slept(milliseconds(3), kMost);
  EXPECT_EQ(budget.Of(kMost), kMost / 2);
  for (int wait = 0; wait < 100; ++wait) budget.Slept(milliseconds(3), kMost);
  EXPECT_EQ(budget.Of(kMost), nanoseconds(0));
  budget.Slept(kMost + std::chrono::microseconds(20), kMost);  // Most of it to wake up.
  EXPECT_EQ(budget.Of(kMost), kMost);
  budget.Slept(milliseconds(3), kMost);
  budget.Found();
  EXPECT_EQ(budget.Of(kMost), kMost);
}

// Pauses far longer than a look: a worker that has learnt so goes to sleep at once.
TEST(WaitingTest, WorkersLearnThatLookingIsInVain) {
  constexpr auto kLook = milliseconds(1);
  constexpr int kPauses = 40;
  std::array<WorkRecord, 2> records;
  MalleablePool pool({.name = "test",
                      .capacity = 1,
                      .when_empty = MalleablePool::WhenEmpty::kRunInCaller,
                      .spin = kLook,
                      .records = records});
  pool.Resize(1);
  for (int pause = 0; pause < kPauses; ++pause) {
    std::atomic<bool> helped{false};
    pool.ParallelFor(2, [&](int) {
      if (pool.CurrentWorker() == -1) return Await([&] { return helped.load(); });
      helped = true;
    });
    std::this_thread::sleep_for(5 * kLook);
  }
  EXPECT_LT(nanoseconds(records[1].spin_time), kPauses / 4 * kLook);
}

TEST(WaitingTest, AnAskedForYieldIsGivenSomeTimesAndNotAgain) {
  RequestYield();
  int yields = 0;
  while (yields < 100 && yields_asked.TakeOne()) ++yields;
  EXPECT_GT(yields, 0);
  EXPECT_LT(yields, 100);
  EXPECT_FALSE(yields_asked.TakeOne());
  RequestYield();
  EXPECT_TRUE(yields_asked.TakeOne());
}

TEST(WaitingTest, WhoLooksYieldsWhenAsked) {
  RequestYield();
  EXPECT_FALSE(SpinUntil(steady_clock::now(), milliseconds(20), Yields::kOnRequest, nullptr,
                         [] { return false; }));
  EXPECT_FALSE(yields_asked.TakeOne()) << "all given";
}

// Who looks while its partner may be waiting for the same core must not keep it.
TEST(WaitingTest, ThreadsOfALoopOnOneCoreYield) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::vector<Yields> seen;
  for (int cpu = 0; cpu < CPU_SETSIZE && seen.size() < 2; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    static Loop loop(2, [](int) {});  // Begun on the first of them.
    if (seen.empty()) {
      Loop shared(2, [](int) {});
      EXPECT_EQ(shared.HowToYield(), Yields::kOnRequest);
      shared.NoteCpu();
      seen.push_back(shared.HowToYield());
    } else {
      loop.NoteCpu();
      seen.push_back(loop.HowToYield());
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(seen[0], Yields::kAlways);
  if (seen.size() > 1) {
    EXPECT_EQ(seen[1], Yields::kOnRequest);
  }
}

// A core that is taken away in the middle of a spin, as a virtual machine's may be, is no measure
// of those that follow.
TEST(WaitingTest, ADisturbedSpinIsNoMeasureOfOthers) {
  WorkRecord record;
  WorkMeter meter;
  meter.TellTo(&record);
  meter.AddTurns(1, 0);
  const int64_t turn = record.spin_time;
  meter.AddSpin(WorkMeter::kUnclocked + 1, ThreadCpuTime() - milliseconds(50));
  const int64_t before = record.spin_time;
  EXPECT_GT(before, 50'000'000);
  meter.AddTurns(8, 0);
  EXPECT_LE(record.spin_time - before, 9 * turn);
}

// Spins that find work at once are counted in turns.
TEST(WaitingTest, ShortSpinsCount) {
  WorkRecord record;
  WorkMeter meter;
  meter.TellTo(&record);
  const auto start = steady_clock::now();
  int looks = 0;
  EXPECT_TRUE(SpinUntil(start, std::chrono::hours(1), Yields::kOnRequest, &meter,
                        [&] { return ++looks > 32; }));
  const int64_t half_a_turn = record.spin_time;
  EXPECT_GT(half_a_turn, 0);
  looks = 0;
  EXPECT_TRUE(SpinUntil(start, std::chrono::hours(1), Yields::kOnRequest, &meter,
                        [&] { return ++looks > 96; }));
  EXPECT_EQ(record.spin_time, 4 * half_a_turn);
  EXPECT_TRUE(
      SpinUntil(start, std::chrono::hours(1), Yields::kOnRequest, &meter, [] { return true; }));
  EXPECT_EQ(record.spin_time, 4 * half_a_turn);
}

}  // namespace
}  // namespace cosched
