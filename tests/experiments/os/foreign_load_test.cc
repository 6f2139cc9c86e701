#include "experiments/os/foreign_load.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>

#include "engine/base/topology.h"
#include "experiments/harness/harness.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kStat[] =
    "cpu  600 60 60 9000 90 6 6 6 0 0\n"
    "cpu0 100 10 20 3000 30 1 2 3 0 0\n"
    "cpu1 200 20 20 3000 30 2 2 2 0 0\n"
    "cpu11 300 30 20 3000 30 3 2 1 0 0\n"
    "intr 12345 0 0\n";

using Times = std::map<int, Duration>;

TEST(BusyTimesTest, CountsWhatTheNamedCpusUsedAndNeitherIdleNorTheSum) {
  EXPECT_EQ(BusyTimes(kStat, {0}, 100), (Times{{0, milliseconds(1360)}}));
  EXPECT_EQ(BusyTimes(kStat, {1, 11}, 100),
            (Times{{1, milliseconds(2460)}, {11, milliseconds(3560)}}));
  EXPECT_EQ(BusyTimes(kStat, {5}, 100), (Times{{5, Duration(0)}}));
  EXPECT_EQ(BusyTimes("", {0}, 100), (Times{{0, Duration(0)}}));
  EXPECT_TRUE(BusyTimes(kStat, {}, 100).empty());
}

// A server of 128 CPUs as /proc/stat tells of it.
struct Server {
  Duration now{0}, own{0};
  Times busy;

  std::string ProcStat() const {
    std::string text = "cpu  1 1 1 1 1 1 1 1 0 0\n";
    for (int cpu = 0; cpu < 128; ++cpu) {
      const auto time = busy.find(cpu);
      const int64_t ticks = time == busy.end() ? 0 : time->second / milliseconds(10);
      text += fmt::format("cpu{} {} 0 0 5 0 0 0 0 0 0\n", cpu, ticks);
    }
    return text + "intr 7\n";
  }
  ForeignLoad Watch(const CpuSet& cores) {
    return ForeignLoad(cores, {.proc_stat = [this] { return ProcStat(); },
                               .ticks_per_second = 100,
                               .now = [this] { return now; },
                               .own = [this] { return own; }});
  }
};

TEST(ForeignLoadTest, IsAShareOfTheCoresThatAreWatched) {
  Server server;
  const ForeignLoad few = server.Watch(CpuSet::Range(0, 3));
  const ForeignLoad all = server.Watch(CpuSet::Range(0, 127));
  // Somebody else takes all four cores of the experiment, and none of the others.
  server.now = seconds(10);
  for (int cpu = 0; cpu < 4; ++cpu) server.busy[cpu] = seconds(10);
  EXPECT_DOUBLE_EQ(few.Share(), 1);
  EXPECT_DOUBLE_EQ(all.Share(), 4. / 128);
}

TEST(ForeignLoadTest, WhatRunsElsewhereDisturbsNobody) {
  Server server;
  const ForeignLoad load = server.Watch(CpuSet::Range(0, 3));
  server.now = seconds(10);
  for (int cpu = 4; cpu < 128; ++cpu) server.busy[cpu] = seconds(10);
  EXPECT_DOUBLE_EQ(load.Share(), 0);
}

TEST(ForeignLoadTest, WhatIsOurOwnIsNotForeign) {
  Server server;
  const ForeignLoad load = server.Watch({0, 1});
  server.now = seconds(10);
  server.busy = {{0, seconds(9)}, {1, seconds(8)}};
  server.own = seconds(12);
  EXPECT_DOUBLE_EQ(load.Share(), 5. / 20);
  EXPECT_DOUBLE_EQ(load.Share(seconds(3)), 2. / 20);
  EXPECT_DOUBLE_EQ(load.Share(seconds(30)), 0);
}

// On this machine: a host of real tenants watches what the experiment uses and nothing else.
TEST(ForeignLoadTest, AHostWatchesTheCoresOfItsExperiment) {
  const Topology here = Topology::ThisMachine();
  const TemporaryFolder folder;
  ExperimentConfig config;
  config.cores = CpuSet{here.Cpus().First()};
  const std::unique_ptr<ObservedHost> host =
      ProcessHosts("/proc/self/exe", here, config).make_host(folder.path() / "run/p/e/1", false);
  CpuSet watched;
  for (const auto& [cpu, time] : host->BusyTimes()) watched.Add(cpu);
  EXPECT_EQ(watched, config.cores);
}

void Burn(double seconds) {
  timespec used{};
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec) < seconds);
}

// What a child used is foreign while it is nobody's, and ours once it has been reaped.
TEST(ForeignLoadTest, ReapedChildrenAreOurs) {
  const ForeignLoad load(Topology::ThisMachine().Cpus());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Burn(0.5);
    _exit(0);
  }
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const double unreaped = load.Share();
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_LT(load.Share(), unreaped);
}

}  // namespace
}  // namespace cosched
