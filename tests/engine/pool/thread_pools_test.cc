// The pair of pools of a session: how many threads a grant gives, on which cores, and when they are
// there. The machine's own cores are used, however many there are; what needs more of them says so
// and is skipped.

#include "engine/pool/thread_pools.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/topology.h"
#include "engine/pool/run_on_worker.h"

namespace cosched {
namespace {

using Binding = ThreadPools::Binding;
constexpr std::chrono::minutes kForever{5};

// The first `count` cores of this machine.
CpuSet Take(const CpuSet& cpus, int count) {
  CpuSet taken;
  for (int cpu : cpus) {
    if (taken.Count() < count) taken.Add(cpu);
  }
  return taken;
}

TEST(ThreadPoolsTest, NothingIsActiveBeforeTheFirstResize) {
  ThreadPools pools({1, 4}, Binding::kNone, nullptr);
  EXPECT_TRUE(pools.Settled());
  EXPECT_EQ(pools.ActiveThreads(), 0);
  EXPECT_EQ(pools.Current(), (Split{0, 0}));
  EXPECT_EQ(pools.Capacity(), (Split{1, 4}));
  EXPECT_EQ(pools.intra().Capacity(), 3);  // The caller is the fourth.
}

// Synthetic cores can't be bound, but the counts are the same: clamping to the grant is arithmetic.
TEST(ThreadPoolsTest, MalleableThreadsNeverExceedTheCores) {
  const Topology topology = Topology::Synthetic("core:16 pu:1");
  ThreadPools pools({4, 8}, Binding::kEachToItsCore, &topology);
  for (int cores = 0; cores <= 16; ++cores) {
    for (const Split split : {Split{1, 1}, Split{1, 8}, Split{4, 8}, Split{2, 3}, Split{9, 99},
                              Split{0, 0}, DefaultSplit(cores)}) {
      pools.Resize(CpuSet::Range(0, cores - 1), split);
      ASSERT_TRUE(pools.WaitSettled(kForever));
      EXPECT_LE(pools.ActiveThreads(), cores);
      EXPECT_EQ(pools.ActiveThreads(), ThreadsOf(pools.Current()));
      EXPECT_EQ(pools.inter().Active(), pools.Current().inter);
      EXPECT_EQ(pools.intra().Active(), std::max(0, pools.Current().intra - 1));
      EXPECT_EQ(pools.Current() == (Split{0, 0}), cores == 0 || split == (Split{0, 0}));
    }
  }
  pools.Resize(CpuSet::Range(0, 3), {2, 8});
  EXPECT_EQ(pools.Current(), (Split{2, 3}));
  pools.Resize(CpuSet::Range(0, 1), {4, 8});
  EXPECT_EQ(pools.Current(), (Split{2, 1}));
  pools.Resize(CpuSet::Range(0, 15), {9, 99});
  EXPECT_EQ(pools.Current(), (Split{4, 8}));
}

TEST(ThreadPoolsTest, RigidThreadsFollowTheSplitWhateverTheCores) {
  ThreadPools pools({2, 4}, Binding::kNone, nullptr);
  pools.Resize({0}, {2, 4});
  ASSERT_TRUE(pools.WaitSettled(kForever));
  EXPECT_EQ(pools.Current(), (Split{2, 4}));
  EXPECT_EQ(pools.ActiveThreads(), 5);
  EXPECT_EQ(ThreadsOf({2, 4}), 5);
  pools.Resize({}, {2, 4});
  ASSERT_TRUE(pools.WaitSettled(kForever));
  EXPECT_EQ(pools.ActiveThreads(), 0);
}

// How many threads run tasks of one loop at once, at most.
int ThreadsOfALoop(ThreadPools* pools) {
  std::atomic<int> inside{0}, most{0};
  RunOnWorker(&pools->inter(), [&] {
    for (int round = 0; round < 300; ++round) {
      pools->intra().ParallelFor(64, [&](int) {
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds(10));
        --inside;
      });
    }
  });
  return most.load();
}

TEST(ThreadPoolsTest, IdleInterOpWorkersJoinLoopsUpToTheSplit) {
  const Topology topology = Topology::Synthetic("core:4 pu:1");
  ThreadPools pools({4, 4}, Binding::kEachToItsCore, &topology);
  const auto threads = [&](int cores, Split split) {
    pools.Resize(CpuSet::Range(0, cores - 1), split);
    EXPECT_TRUE(pools.WaitSettled(kForever));
    return ThreadsOfALoop(&pools);
  };
  EXPECT_EQ(threads(2, {2, 2}), 2);
  EXPECT_EQ(threads(2, {2, 1}), 1);
  EXPECT_EQ(threads(4, {4, 2}), 2);
  EXPECT_EQ(threads(4, {2, 4}), 4);
  EXPECT_EQ(threads(4, {1, 1}), 1);
}

// Waits for what becomes true a moment after it was caused.
void AwaitFreeThreads(const ThreadPools& pools, int count) {
  const auto end = std::chrono::steady_clock::now() + kForever;
  while (pools.FreeThreadsAtANode() != count && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(pools.FreeThreadsAtANode(), count);
}

TEST(ThreadPoolsTest, WhoComputesElsewhereIsNotFree) {
  const Topology topology = Topology::Synthetic("core:4 pu:1");
  ThreadPools pools({4, 4}, Binding::kEachToItsCore, &topology);
  EXPECT_EQ(pools.FreeThreadsAtANode(), 1);
  pools.Resize(CpuSet::Range(0, 3), {4, 4});
  AwaitFreeThreads(pools, 4);
  std::latch busy{3}, over{1}, done{3};
  for (int i = 0; i < 3; ++i) {
    pools.inter().Schedule([&] {
      busy.count_down();
      over.wait();
      done.count_down();
    });
  }
  busy.wait();
  AwaitFreeThreads(pools, 2);  // The caller and the fourth worker.
  over.count_down();
  done.wait();
  AwaitFreeThreads(pools, 4);
  pools.Resize(CpuSet::Range(0, 3), {1, 4});
  AwaitFreeThreads(pools, 4);  // Three are helpers.
  pools.Resize(CpuSet::Range(0, 3), {4, 2});
  AwaitFreeThreads(pools, 2);
}

// What the kernel says each active thread may run on.
std::vector<CpuSet> Bindings(ThreadPools* pools, const Topology& topology) {
  std::vector<CpuSet> bindings;
  for (MalleablePool* pool : {&pools->inter(), &pools->intra()}) {
    for (int i = 0; i < pool->Active(); ++i) {
      bindings.push_back(topology.ThreadBinding(pool->ThreadIds()[static_cast<size_t>(i)]));
    }
  }
  return bindings;
}

void ExpectOneThreadOnEachCore(const std::vector<CpuSet>& bindings, const CpuSet& cores) {
  CpuSet all;
  for (const CpuSet& binding : bindings) {
    EXPECT_EQ(binding.Count(), 1);
    EXPECT_TRUE((all & binding).Empty()) << "two threads on " << binding.ToString();
    all = all | binding;
  }
  EXPECT_EQ(all, cores);
}

TEST(ThreadPoolsTest, BindsEachThreadToACoreOfItsOwn) {
  const Topology topology = Topology::ThisMachine();
  const int count = topology.Cpus().Count();
  ThreadPools pools({1, count}, Binding::kEachToItsCore, &topology);
  for (int cores = 1; cores <= count; ++cores) {
    const CpuSet grant = Take(topology.Cpus(), cores);
    pools.Resize(grant, DefaultSplit(cores));
    ASSERT_TRUE(pools.WaitSettled(kForever));
    ExpectOneThreadOnEachCore(Bindings(&pools, topology), grant);
  }
}

TEST(ThreadPoolsTest, ResizeToTheSameCoresBindsAgain) {
  const Topology topology = Topology::ThisMachine();
  const CpuSet core{topology.Cpus().First()};
  ThreadPools pools({1, 1}, Binding::kEachToItsCore, &topology);
  pools.Resize(core, {1, 1});
  const int tid = pools.inter().ThreadIds()[0];
  ASSERT_TRUE(topology.BindThread(tid, topology.Cpus()));  // As a changed cpuset does.
  pools.Resize(core, {1, 1});
  EXPECT_EQ(topology.ThreadBinding(tid), core);
}

TEST(ThreadPoolsTest, ThreadsStayWhereTheyWereIfTheMachineRefusesACore) {
  const Topology topology = Topology::ThisMachine();
  const CpuSet core = {topology.Cpus().First()};
  ThreadPools pools({1, 1}, Binding::kEachToItsCore, &topology);
  pools.Resize(core, {1, 1});
  pools.Resize({CpuSet::kMaxCpu}, {1, 1});
  EXPECT_TRUE(pools.WaitSettled(kForever));
  EXPECT_EQ(topology.ThreadBinding(pools.inter().ThreadIds()[0]), core);
}

TEST(ThreadPoolsTest, ThreadsKeepTheirCoreAndTheInterWorkerMovesWhenItsCoreIsLost) {
  const Topology topology = Topology::ThisMachine();
  const std::vector<int> cpus = topology.Cpus().ToVector();
  if (cpus.size() < 2) GTEST_SKIP() << "needs 2 cores";
  const int a = cpus[0], b = cpus[1];
  ThreadPools pools({1, 2}, Binding::kEachToItsCore, &topology);
  pools.inter().Prepare(1);
  pools.intra().Prepare(1);
  const int inter = pools.inter().ThreadIds()[0], helper = pools.intra().ThreadIds()[0];
  pools.Resize({b}, {1, 2});
  EXPECT_EQ(topology.ThreadBinding(inter), CpuSet{b});
  pools.Resize({a, b}, {1, 2});
  EXPECT_EQ(topology.ThreadBinding(inter), CpuSet{b});
  EXPECT_EQ(topology.ThreadBinding(helper), CpuSet{a});
  pools.Resize({a}, {1, 2});
  EXPECT_EQ(topology.ThreadBinding(inter), CpuSet{a});
  ASSERT_TRUE(pools.WaitSettled(kForever));
  EXPECT_EQ(pools.ActiveThreads(), 1);
}

TEST(ThreadPoolsTest, TimesCountGrowsAndShrinksApart) {
  ThreadPools pools({1, 4}, Binding::kNone, nullptr);
  const auto resize = [&](Split split) {
    pools.Resize({0}, split);
    ASSERT_TRUE(pools.WaitSettled(kForever));
  };
  resize({1, 4});
  resize({1, 4});  // Moves nothing: in neither count.
  resize({1, 2});
  resize({1, 1});
  const ThreadPools::ResizeTimes times = pools.Times();
  EXPECT_EQ(times.grows, 1);
  EXPECT_EQ(times.shrinks, 2);
  EXPECT_GT(times.last_grow.count(), 0);
  EXPECT_GE(times.shrink.Max(), times.last_shrink);
  EXPECT_EQ(times.grow.Count(), 1);
  EXPECT_EQ(times.shrink.Count(), 2);
  EXPECT_GE(times.shrink.Quantile(1), times.shrink.Max());
}

TEST(ThreadPoolsTest, ARequestChangesOnlyWhatItNames) {
  ThreadPools pools({2, 8}, Binding::kNone, nullptr);
  pools.Resize({0, 1}, {1, 4});
  pools.Resize({.inter = 2});
  EXPECT_EQ(pools.Current(), (Split{2, 4}));
  pools.Resize({.intra = 99});
  EXPECT_EQ(pools.Current(), (Split{2, 8}));
  EXPECT_EQ(pools.Wanted().split, (Split{2, 99}));
  pools.Resize({.cores = CpuSet{1}});
  EXPECT_EQ(pools.Cores(), CpuSet{1});
  EXPECT_EQ(pools.Current(), (Split{2, 8}));
}

TEST(ThreadPoolsTest, PausedByEachOfItsWaysAndResumedToWhatWasWanted) {
  ThreadPools pools({2, 8}, Binding::kNone, nullptr);
  const std::vector<std::pair<ResizeRequest, ResizeRequest>> ways = {
      {{.paused = true}, {.paused = false}},
      {{.inter = 0}, {.inter = 2}},
      {{.intra = 0}, {.intra = 3}},
      {{.cores = CpuSet()}, {.cores = CpuSet{0}}}};
  pools.Resize({0}, {2, 3});
  for (const auto& [pause, resume] : ways) {
    pools.Resize(pause);
    ASSERT_TRUE(pools.WaitSettled(kForever));
    EXPECT_EQ(pools.Current(), (Split{0, 0}));
    EXPECT_EQ(pools.ActiveThreads(), 0);
    pools.Resize(resume);
    EXPECT_EQ(pools.Current(), (Split{2, 3}));
  }
  pools.Resize({.paused = true});
  pools.Resize({.cores = CpuSet{3}, .inter = 1});
  EXPECT_EQ(pools.Current(), (Split{0, 0}));  // What is wanted changed; the pause goes on.
  pools.Resize({.paused = false});
  EXPECT_EQ(pools.Current(), (Split{1, 3}));
}

TEST(ThreadPoolsTest, ConcurrentRequestsForDifferentThingsDoNotUndoEachOther) {
  ThreadPools pools({4, 8}, Binding::kNone, nullptr);
  pools.Resize({0}, {1, 1});
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i <= 400; ++i) pools.Resize({.inter = 1 + i % 4});
  });
  threads.emplace_back([&] {
    for (int i = 0; i <= 400; ++i) pools.Resize({.intra = 1 + i % 8});
  });
  threads.emplace_back([&] {
    for (int i = 0; i <= 400; ++i) pools.Resize({.cores = CpuSet{i % 16}});
  });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(pools.WaitSettled(kForever));
  EXPECT_EQ(pools.Current(), (Split{1, 1}));
  EXPECT_EQ(pools.Cores(), CpuSet{0});
  EXPECT_EQ(pools.ActiveThreads(), 1);
}

TEST(ThreadPoolsTest, EveryResizeIsReportedOnceAndInOrder) {
  ThreadPools pools({2, 4}, Binding::kNone, nullptr);
  std::vector<ResizeReport> reports;
  pools.OnResized([&](const ResizeReport& report) { reports.push_back(report); });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&pools, thread] {
      for (int i = 0; i < 100; ++i) pools.Resize({i}, {(i + thread) % 3, 1 + i % 4}, "test");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pools.Resize({7}, {2, 3}, "last"), 301);
  ASSERT_TRUE(pools.WaitSettled(kForever));
  pools.OnResized(nullptr);
  ASSERT_EQ(reports.size(), 301u);
  Split in_place{0, 0};
  for (size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i].sequence, static_cast<int64_t>(i + 1));
    EXPECT_EQ(reports[i].before, in_place);
    EXPECT_GE(reports[i].taken.count(), 0);
    EXPECT_EQ(reports[i].op, "");
    if (!reports[i].overtaken) in_place = reports[i].after;
  }
  EXPECT_EQ(reports.back().after, (Split{2, 3}));
  EXPECT_EQ(reports.back().cores, CpuSet{7});
  EXPECT_EQ(reports.back().cause, "last");
  EXPECT_FALSE(reports.back().overtaken);
}

TEST(ThreadPoolsTest, AResizeBelongsToTheOpThatRuns) {
  const std::string conv = "Conv2D";
  std::vector<std::pair<std::string, int>> resizes;  // Op and change.
  ThreadPools pools({1, 2}, Binding::kNone, nullptr);
  pools.OnResized(
      [&](const ResizeReport& report) { resizes.emplace_back(report.op, report.change); });
  pools.Resize({0}, {1, 1});
  std::latch begun(1), end(1);
  pools.inter().Schedule([&] {
    pools.SetRunningOp(&conv);
    begun.count_down();
    end.wait();
  });
  begun.wait();
  pools.Resize({.intra = 2});
  ASSERT_TRUE(pools.WaitSettled(kForever));
  pools.Resize({.paused = true});
  EXPECT_FALSE(pools.Settled());
  end.count_down();
  ASSERT_TRUE(pools.WaitSettled(kForever));
  pools.Resize({.paused = false});
  ASSERT_TRUE(pools.WaitSettled(kForever));
  pools.OnResized(nullptr);
  const std::vector<std::pair<std::string, int>> expected = {
      {"", 1}, {"Conv2D", 1}, {"Conv2D", -2}, {"", 2}};
  EXPECT_EQ(resizes, expected);
  EXPECT_EQ(pools.Times().grow.Count(), 3);
}

TEST(ThreadPoolsTest, OffersWorkWheneverThereMayBeMoreWorkers) {
  std::vector<int> targets;  // Outlives the pools, whose end is a Resize too.
  int late = 0;
  ThreadPools pools({2, 1}, Binding::kNone, nullptr);
  pools.OnWorkersAdded([&] { targets.push_back(pools.inter().Target()); });
  pools.Resize({0}, {1, 1});
  pools.Resize({.inter = 2});
  pools.Resize({.paused = true});
  pools.OnWorkersAdded([&] { ++late; });
  pools.Resize({.paused = false});
  EXPECT_EQ(targets, (std::vector<int>{1, 2, 0, 2}));
  EXPECT_EQ(late, 1);
}

TEST(ThreadPoolsTest, WaitSettledGivesUp) {
  ThreadPools pools({1, 1}, Binding::kNone, nullptr);
  pools.Resize({0}, {1, 1});
  std::latch begun(1), end(1);
  pools.inter().Schedule([&] {
    begun.count_down();
    end.wait();
  });
  begun.wait();
  pools.Resize({}, {1, 1});  // The node runs to its end first.
  EXPECT_FALSE(pools.WaitSettled(std::chrono::milliseconds(1)));
  EXPECT_EQ(pools.Cores(), CpuSet());
  end.count_down();
  EXPECT_TRUE(pools.WaitSettled(std::chrono::nanoseconds::max()));
}

// Nodes on the inter pool whose loops use the intra pool, while the session is resized and paused
// at random.
TEST(ThreadPoolsTest, NothingIsLostWhileResizedAndPaused) {
  const Topology topology = Topology::ThisMachine();
  const std::vector<int> cpus = topology.Cpus().ToVector();
  ThreadPools pools({2, 4}, Binding::kEachToItsCore, &topology);
  std::atomic<int> nodes{0}, tasks{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> resizers;
  for (uint64_t seed = 0; seed < 2; ++seed) {
    resizers.emplace_back([&, seed] {
      Random random(seed);
      while (!stop) {
        CpuSet cores;
        for (int cpu : cpus) {
          if (random.Below(3) > 0) cores.Add(cpu);
        }
        pools.Resize(
            cores, {1 + static_cast<int>(random.Below(2)), 1 + static_cast<int>(random.Below(4))});
        std::this_thread::yield();
      }
    });
  }
  constexpr int kNodes = 500, kTasks = 16;
  for (int i = 0; i < kNodes; ++i) {
    pools.inter().Schedule([&] {
      pools.intra().ParallelFor(kTasks, [&](int) { ++tasks; });
      ++nodes;
    });
  }
  while (nodes < kNodes) std::this_thread::yield();
  stop = true;
  for (std::thread& resizer : resizers) resizer.join();
  EXPECT_EQ(tasks.load(), kNodes * kTasks);
  pools.Resize(topology.Cpus(), {1, 4});
  EXPECT_TRUE(pools.WaitSettled(kForever));
}

TEST(DurationHistogramTest, QuantilesAreWithinABucket) {
  DurationHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5).count(), 0);
  for (int i = 1; i <= 1000; ++i) histogram.Add(std::chrono::microseconds(i));
  EXPECT_EQ(histogram.Count(), 1000);
  for (double quantile : {0.001, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = quantile * 1e6;
    const auto value = static_cast<double>(histogram.Quantile(quantile).count());
    EXPECT_GE(value, exact);
    EXPECT_LE(value, exact * 1.125);
  }
}

TEST(DurationHistogramTest, TakesExtremesAndMerges) {
  DurationHistogram a, b;
  a.Add(std::chrono::nanoseconds(-5));
  a.Add(std::chrono::nanoseconds(0));
  b.Add(std::chrono::hours(24));
  a.Merge(b);
  EXPECT_EQ(a.Count(), 3);
  EXPECT_EQ(a.Max(), std::chrono::hours(24));
  EXPECT_EQ(a.Quantile(0).count(), 1);
  EXPECT_GT(a.Quantile(1), std::chrono::minutes(10));
}

// Threads that compute at the same time, each in its own memory.
TEST(ThreadPoolsTest, EveryThreadOfALoopHasScratchMemoryOfItsOwn) {
  constexpr int kThreads = 4;
  ThreadPools pools({1, kThreads}, Binding::kNone, nullptr);
  pools.Resize(CpuSet::Range(0, kThreads - 1), {1, kThreads});
  ASSERT_TRUE(pools.WaitSettled(kForever));
  std::set<const std::byte*> seen;
  std::mutex mutex;
  std::latch all(kThreads);
  RunOnWorker(&pools.inter(), [&] {
    pools.intra().ParallelFor(kThreads, [&](int) {
      const std::byte* memory = pools.Scratch(64);
      EXPECT_EQ(pools.Scratch(64), memory);
      {
        const std::lock_guard<std::mutex> lock(mutex);
        seen.insert(memory);
      }
      all.arrive_and_wait();
    });
  });
  EXPECT_EQ(seen.size(), kThreads);
}

}  // namespace
}  // namespace cosched
