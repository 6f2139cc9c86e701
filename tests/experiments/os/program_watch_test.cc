#include "experiments/os/program_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "engine/base/topology.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

// A child whose two threads compute on one CPU, and a grandchild that sleeps; ended with the test.
class ProgramWatchTest : public ::testing::Test {
 protected:
  ProgramWatchTest() : cpu_(Topology::ThisMachine().Cpus().First()) {
    child_ = fork();
    if (child_ != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(cpu_), &one);
    sched_setaffinity(0, sizeof one, &one);
    if (fork() == 0) Sleep();
    std::thread(Spin).detach();
    Spin();
  }
  ~ProgramWatchTest() override {
    for (const pid_t process : ProcessesBelow(getpid())) kill(process, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  static void Spin() {
    for (volatile int64_t turn = 0;; turn = turn + 1) {
    }
  }
  static void Sleep() {
    while (true) pause();
  }
  ProgramFacts WatchFor(milliseconds time) {
    for (const auto end = ProgramWatch::Clock::now() + time; ProgramWatch::Clock::now() < end;) {
      watch_.Look(ProcessesBelow(getpid()), ProgramWatch::Clock::now());
      std::this_thread::sleep_for(milliseconds(20));
    }
    return watch_.Facts();
  }

  const int cpu_;
  pid_t child_ = -1;
  ProgramWatch watch_{Topology::ThisMachine()};
};

TEST_F(ProgramWatchTest, TwoThreadsThatWantOneCoreAreTold) {
  const ProgramFacts facts = WatchFor(milliseconds(1500));
  EXPECT_EQ(facts.processes, 2);
  EXPECT_EQ(facts.threads, 3);
  EXPECT_EQ(facts.most_wanting, 2);
  EXPECT_GT(facts.wanting, 1.2);
  EXPECT_LT(facts.wanting, 2.2);
  EXPECT_LT(facts.used_cores, 1.1);
  EXPECT_GT(facts.waiting_share, 0.2);
  EXPECT_EQ(facts.allowed, CpuSet{cpu_});
  EXPECT_GE(facts.watched, milliseconds(1000));
}

TEST_F(ProgramWatchTest, ProcessesBelowAreChildrenAndTheirs) {
  while (ProcessesBelow(getpid()).size() < 2) std::this_thread::sleep_for(milliseconds(5));
  const std::vector<pid_t> below = ProcessesBelow(getpid());
  EXPECT_EQ(below.size(), 2U);
  EXPECT_TRUE(std::binary_search(below.begin(), below.end(), child_));
  EXPECT_EQ(ProcessesBelow(child_).size(), 1U);
}

TEST_F(ProgramWatchTest, WhatHasEndedIsNoLongerLookedAt) {
  WatchFor(milliseconds(100));
  for (const pid_t process : ProcessesBelow(getpid())) kill(process, SIGKILL);
  const double used = watch_.Facts().used_cores;
  watch_.Look({}, ProgramWatch::Clock::now());
  EXPECT_LE(watch_.Facts().used_cores, used) << "the same time over a longer one";
}

}  // namespace
}  // namespace cosched
