#include "experiments/os/process_sampler.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/os/thread_affinity.h"
#include "tests/engine/base/thread_end.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

// A thread of this process under a name, spinning or asleep until told to go.
class NamedThread {
 public:
  NamedThread(const char* name, bool spins) {
    thread_ = std::thread([this, name, spins] {
      pthread_setname_np(pthread_self(), name);
      tid_ = gettid();
      while (!leave_) {
        if (!spins) std::this_thread::sleep_for(milliseconds(1));
      }
    });
    while (tid_ == 0) std::this_thread::yield();
  }
  ~NamedThread() {
    leave_ = true;
    thread_.join();
    AwaitEnd(tid_);
  }
  pid_t tid() const { return tid_; }

 private:
  std::atomic<bool> leave_{false};
  std::atomic<pid_t> tid_{0};
  std::thread thread_;
};

const ProcessSampler::Thread* Find(const ProcessSampler& sampler, pid_t tid) {
  for (const ProcessSampler::Thread& thread : sampler.Threads()) {
    if (thread.tid == tid) return &thread;
  }
  return nullptr;
}

TEST(ProcessSamplerTest, KnowsComputeThreadsByName) {
  EXPECT_TRUE(ParsePoolThread("inter/0"));
  EXPECT_TRUE(ParsePoolThread("intra/63"));
  EXPECT_FALSE(ParsePoolThread("intra"));
  EXPECT_FALSE(ParsePoolThread("cosched"));
  EXPECT_FALSE(ParsePoolThread(""));
  EXPECT_FALSE(ParsePoolThread("inter/"));
  EXPECT_FALSE(ParsePoolThread("inter/-1"));
  EXPECT_FALSE(ParsePoolThread("inter/1x"));
  EXPECT_EQ(ParsePoolThread("inter/12")->index, 12);
  EXPECT_EQ(ParsePoolThread("inter/12")->pool, PoolThread::Pool::kInter);
  EXPECT_EQ(ParsePoolThread("intra/3")->pool, PoolThread::Pool::kIntra);
}

// As of a tenant's ranks: their threads and times are added up, and nobody is taken for another.
TEST(ProcessSamplerTest, FollowsFurtherProcesses) {
  const NamedThread here("intra/0", false);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_setname_np(pthread_self(), "intra/0");
    while (true) pause();
  }
  ProcessSampler alone(child), both(getpid());
  both.Follow(child);
  const ProcessSampler::Thread* there = nullptr;
  for (int i = 0; i < 2000 && (there == nullptr || !there->compute); ++i) {
    std::this_thread::sleep_for(milliseconds(1));
    ASSERT_TRUE(both.Read() && alone.Read());
    there = Find(both, child);
  }
  ASSERT_TRUE(there != nullptr && there->worker);
  EXPECT_EQ(there->worker->index, ProcessSampler::kOfOthers);
  ASSERT_NE(Find(both, here.tid()), nullptr);
  EXPECT_EQ(Find(both, here.tid())->worker->index, 0);
  EXPECT_GE(both.ComputeTotals().run_time, alone.ComputeTotals().run_time);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(both.Read());
}

TEST(ProcessSamplerTest, SeesWhoRunsAndForHowLong) {
  const NamedThread spinner("intra/0", true), sleeper("inter/0", false), other("helper", true);
  ProcessSampler sampler(getpid());
  ASSERT_TRUE(sampler.Read());
  const ProcessSampler::Totals before = sampler.ComputeTotals();
  ProcessSampler::Totals after = before;
  // What it ran and what it waited for a core; the kernel adds a wait only when it is over.
  const auto used = [&] {
    return after.run_time + after.run_queue_wait - before.run_time - before.run_queue_wait;
  };
  // On a crowded machine it may have waited for long before it ran at all.
  const auto ran = [&] { return after.run_time > before.run_time; };
  for (int i = 0; i < 200 && (used() < milliseconds(50) || !ran()); ++i) {
    std::this_thread::sleep_for(milliseconds(25));
    ASSERT_TRUE(sampler.Read());
    after = sampler.ComputeTotals();
  }
  ASSERT_NE(Find(sampler, spinner.tid()), nullptr);
  EXPECT_TRUE(Find(sampler, spinner.tid())->compute);
  EXPECT_EQ(Find(sampler, spinner.tid())->state, 'R');
  EXPECT_TRUE(Find(sampler, sleeper.tid())->compute);
  EXPECT_FALSE(Find(sampler, other.tid())->compute);
  EXPECT_GE(used(), milliseconds(50));
  EXPECT_TRUE(ran());
  EXPECT_GE(after.involuntary_switches, before.involuntary_switches);
}

TEST(ProcessSamplerTest, CpuTimeIsOfAllThreadsAndOfNobodyWhoIsGone) {
  const auto begin = CpuTimeOf(getpid());
  ASSERT_TRUE(begin);
  {
    const NamedThread spinner("helper", true);
    while (*CpuTimeOf(getpid()) < *begin + milliseconds(20))
      std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_GE(*CpuTimeOf(getpid()), *begin + milliseconds(20)) << "the thread's stays";
  EXPECT_EQ(CpuTimeOf(-1), std::nullopt);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(CpuTimeOf(child), std::nullopt);
}

// Where there are two cores to move between: a thread that is pushed to and fro is seen to
// migrate, and one that sleeps is not.
TEST(ProcessSamplerTest, CountsMigrationsOfComputeThreads) {
  const Topology topology = Topology::ThisMachine();
  if (topology.Cpus().Count() < 2) GTEST_SKIP() << "needs two cores to move between";
  const int a = topology.Cpus().ToVector()[0], b = topology.Cpus().ToVector()[1];
  const NamedThread spinner("intra/0", true), sleeper("inter/0", false);
  ASSERT_TRUE(topology.BindThread(sleeper.tid(), {a}));
  ASSERT_TRUE(topology.BindThread(spinner.tid(), {a}));
  ProcessSampler sampler(getpid());
  do {
    ASSERT_TRUE(sampler.Read(ProcessSampler::Look::kLast));
  } while (Find(sampler, spinner.tid())->cpu != a || Find(sampler, sleeper.tid())->cpu != a);
  const int64_t before = Find(sampler, spinner.tid())->migrations;
  const int64_t sleepers = Find(sampler, sleeper.tid())->migrations;
  constexpr int kMoves = 6;
  for (int i = 1; i <= kMoves; ++i) {
    const int cpu = i % 2 == 1 ? b : a;
    ASSERT_TRUE(topology.BindThread(spinner.tid(), {cpu}));
    do {
      ASSERT_TRUE(sampler.Read(ProcessSampler::Look::kSample));
    } while (Find(sampler, spinner.tid())->cpu != cpu);
  }
  ASSERT_TRUE(sampler.Read(ProcessSampler::Look::kLast));
  EXPECT_GE(Find(sampler, spinner.tid())->migrations - before, kMoves);
  EXPECT_EQ(Find(sampler, sleeper.tid())->migrations, sleepers);
  EXPECT_GE(sampler.ComputeTotals().migrations, kMoves);
}

// A sample that skips what can't have changed tells the same as a look at everything.
TEST(ProcessSamplerTest, SamplesSeeThreadsComeWakeAndGo) {
  ProcessSampler sampler(getpid());
  ASSERT_TRUE(sampler.Read(ProcessSampler::Look::kSample));
  pid_t gone[2];
  {
    const NamedThread spinner("intra/0", true), sleeper("inter/0", false);
    ASSERT_TRUE(sampler.Read(ProcessSampler::Look::kSample));
    ASSERT_NE(Find(sampler, spinner.tid()), nullptr);
    EXPECT_EQ(Find(sampler, spinner.tid())->state, 'R');
    ASSERT_NE(Find(sampler, sleeper.tid()), nullptr);
    EXPECT_TRUE(Find(sampler, sleeper.tid())->compute);
    gone[0] = spinner.tid();
    gone[1] = sleeper.tid();
  }
  const auto seen = [&] { return Find(sampler, gone[0]) || Find(sampler, gone[1]); };
  for (int i = 0; i < 1000 && seen(); ++i) {
    std::this_thread::sleep_for(milliseconds(1));
    ASSERT_TRUE(sampler.Read(ProcessSampler::Look::kSample));
  }
  EXPECT_FALSE(seen());
}

// A process of its own: this one's time goes on while it looks.
class ParkedCrowd {
 public:
  static constexpr int kThreads = 64;
  ParkedCrowd() {
    EXPECT_EQ(pipe(commands_), 0);
    process_ = fork();
    if (process_ == 0) Live();
    while (ThreadsOf(process_).size() < kThreads + 1) std::this_thread::sleep_for(milliseconds(1));
  }
  ~ParkedCrowd() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    close(commands_[0]);
    close(commands_[1]);
  }
  // One of its threads computes for a while.
  void Wake() { EXPECT_EQ(write(commands_[1], "x", 1), 1); }
  pid_t process() const { return process_; }

 private:
  [[noreturn]] void Live() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < kThreads; ++i) {
      std::thread([this, i] {
        pthread_setname_np(pthread_self(), ("intra/" + std::to_string(i)).c_str());
        char command;
        while (read(commands_[0], &command, 1) == 1) {
          const Duration end = *CpuTimeOf(getpid()) + milliseconds(30);
          while (*CpuTimeOf(getpid()) < end) continue;
        }
      }).detach();
    }
    while (true) pause();
  }

  int commands_[2];
  pid_t process_ = -1;
};

int Fresh(const ProcessSampler& sampler) {
  return static_cast<int>(
      std::count_if(sampler.Threads().begin(), sampler.Threads().end(),
                    [](const ProcessSampler::Thread& thread) { return thread.fresh; }));
}

// Those that are parked are read in turns, a few at a time; but whoever runs is missed by none.
TEST(ProcessSamplerTest, SamplesReadFewOfTheParkedAndAllThatRan) {
  ParkedCrowd crowd;
  ProcessSampler sampler(crowd.process());
  // Until all have gone to sleep and have not run since the look before.
  std::optional<Duration> used;
  do {
    used = CpuTimeOf(crowd.process());
    ASSERT_TRUE(sampler.Read());
    std::this_thread::yield();
  } while (CpuTimeOf(crowd.process()) != used ||
           std::any_of(sampler.Threads().begin(), sampler.Threads().end(),
                       [](const ProcessSampler::Thread& thread) { return thread.state != 'S'; }));
  ASSERT_TRUE(sampler.Read());
  EXPECT_EQ(Fresh(sampler), ParkedCrowd::kThreads + 1);
  int most = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(sampler.Read(ProcessSampler::Look::kChanges));
    most = std::max(most, Fresh(sampler));
  }
  EXPECT_LE(most, ParkedCrowd::kThreads / 8 + 2) << "of " << ParkedCrowd::kThreads;
  for (int round = 0; round < 10; ++round) {
    const Duration before = sampler.ComputeTotals().run_time;
    const auto begin = CpuTimeOf(crowd.process());  // Before it computes, which it does once.
    crowd.Wake();
    while (*CpuTimeOf(crowd.process()) < *begin + milliseconds(25))
      std::this_thread::sleep_for(milliseconds(1));
    ASSERT_TRUE(sampler.Read(ProcessSampler::Look::kSample));
    EXPECT_GE(sampler.ComputeTotals().run_time - before, milliseconds(20));
  }
}

TEST(ProcessSamplerTest, KnowsThreadsOfTheIdleClass) {
  const NamedThread usual("intra/0", false), idle("intra/1", false);
  const sched_param none{};
  ASSERT_EQ(sched_setscheduler(idle.tid(), SCHED_IDLE, &none), 0);
  ProcessSampler sampler(getpid());
  ASSERT_TRUE(sampler.Read());
  EXPECT_FALSE(Find(sampler, usual.tid())->idle_class);
  EXPECT_TRUE(Find(sampler, idle.tid())->idle_class);
  EXPECT_EQ(Find(sampler, idle.tid())->worker->index, 1);
}

// The kernel's listing loses those after a thread that ends while it is made.
TEST(ProcessSamplerTest, ListsEveryLivingThreadWhileOthersEnd) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> mortals{0};
    std::atomic<bool> leave{false};
    std::vector<std::thread> older;
    for (int i = 0; i < 8; ++i) {
      older.emplace_back([&mortals, &leave] {
        ++mortals;
        leave.wait(false);
      });
    }
    while (mortals < 8) std::this_thread::yield();
    const NamedThread living("inter/0", false);
    leave = true;
    leave.notify_all();
    for (int look = 0; look < 50; ++look) {
      const std::vector<pid_t> threads = ThreadsOf(getpid());
      EXPECT_TRUE(std::binary_search(threads.begin(), threads.end(), living.tid())) << round;
    }
    for (std::thread& thread : older) thread.join();
    if (HasFailure()) return;
  }
}

TEST(ProcessSamplerTest, KeepsWhatEndedThreadsUsed) {
  ProcessSampler sampler(getpid());
  {
    const NamedThread spinner("intra/0", true);
    std::this_thread::sleep_for(milliseconds(50));
    ASSERT_TRUE(sampler.Read());
  }
  const Duration before = sampler.ComputeTotals().run_time;
  EXPECT_GT(before, Duration(0));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sampler.Read());
  EXPECT_EQ(sampler.ComputeTotals().run_time, before);
}

TEST(ProcessSamplerTest, GoneProcessReadsAsGone) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(ProcessSampler(child).Read());
  EXPECT_TRUE(ThreadsOf(child).empty());
  EXPECT_EQ(ConfineThreads(child, {0}, Topology::ThisMachine()), Confinement::kGone);
}

TEST(ThreadAffinityTest, MovesAllOrLeavesThePlaced) {
  const Topology topology = Topology::ThisMachine();
  const CpuSet& all = topology.Cpus();
  const CpuSet one{all.First()};
  const NamedThread compute("intra/0", false), other("helper", false);
  const auto is_compute = [&compute](pid_t thread) { return thread == compute.tid(); };
  ASSERT_EQ(ConfineThreads(getpid(), one, topology), Confinement::kDone);
  EXPECT_EQ(topology.ThreadBinding(compute.tid()), one);
  EXPECT_EQ(topology.ThreadBinding(other.tid()), one);
  ASSERT_EQ(ConfineThreads(getpid(), all, topology, is_compute), Confinement::kDone);
  EXPECT_EQ(topology.ThreadBinding(compute.tid()), one);
  EXPECT_EQ(topology.ThreadBinding(other.tid()), all);
  ASSERT_EQ(ConfineThreads(getpid(), all, topology), Confinement::kDone);
  EXPECT_EQ(topology.ThreadBinding(compute.tid()), all);
}

// On a machine that is not this one nobody knows where a thread is.
TEST(ThreadAffinityTest, NobodyIsPlacedWhosePlaceCannotBeRead) {
  EXPECT_EQ(
      ConfineThreads(getpid(), {0}, Topology::Synthetic("core:1 pu:1"), [](pid_t) { return true; }),
      Confinement::kRefused);
}

TEST(ThreadAffinityTest, ReportsCoresThatTheKernelRefuses) {
  const Topology topology = Topology::ThisMachine();
  EXPECT_EQ(ConfineThreads(getpid(), {CpuSet::kMaxCpu}, topology), Confinement::kRefused);
}

}  // namespace
}  // namespace cosched
