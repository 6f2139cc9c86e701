#include "experiments/os/program_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "engine/base/topology.h"
#include "experiments/os/process_children.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

// A child whose two threads compute on one CPU, and a grandchild that sleeps; ended with the test.
class ProgramWatchTest : public ::testing::Test {
 protected:
  ProgramWatchTest() : cpu_(Topology::ThisMachine().Cpus().First()) {
    int there[2];
    EXPECT_EQ(pipe(there), 0);
    child_ = fork();
    if (child_ != 0) {
      close(there[1]);
      char ignored;
      EXPECT_EQ(read(there[0], &ignored, 1), 0);  // Until nobody can write: both have begun.
      close(there[0]);
      return;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(cpu_), &one);
    sched_setaffinity(0, sizeof one, &one);
    if (fork() == 0) {
      close(there[1]);
      Sleep();
    }
    close(there[1]);
    std::thread(Spin).detach();
    Spin();
  }
  ~ProgramWatchTest() override {
    for (const pid_t process : DescendantsOf(getpid())) kill(process, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  static void Spin() {
    volatile bool forever = true;
    while (forever) continue;
  }
  static void Sleep() {
    while (true) pause();
  }
  ProgramFacts WatchFor(milliseconds time) {
    for (const auto end = ProgramWatch::Clock::now() + time; ProgramWatch::Clock::now() < end;) {
      watch_.Look(DescendantsOf(getpid()));
      std::this_thread::sleep_for(milliseconds(20));  // What happens meanwhile is what is seen.
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

TEST_F(ProgramWatchTest, WhatWasDoneBeforeTheFirstLookDoesNotCount) {
  Duration ran{0};
  for (ProcessSampler sampler(child_); ran < milliseconds(1000);) {
    ASSERT_TRUE(sampler.Read());
    ran = Duration(0);
    for (const ProcessSampler::Thread& thread : sampler.Threads()) ran += thread.run_time;
  }
  const ProgramFacts facts = WatchFor(milliseconds(300));
  // A second more in 0.3 s would be of more threads than there are.
  EXPECT_LT(facts.wanting, 2.2);
  EXPECT_LT(facts.used_cores, 1.1);
  EXPECT_FALSE(facts.hidden);
}

TEST_F(ProgramWatchTest, DescendantsAreChildrenAndTheirs) {
  const std::vector<pid_t> below = DescendantsOf(getpid());
  EXPECT_EQ(below.size(), 2U);
  EXPECT_TRUE(std::binary_search(below.begin(), below.end(), child_));
  EXPECT_EQ(DescendantsOf(child_).size(), 1U);
}

}  // namespace
}  // namespace cosched
