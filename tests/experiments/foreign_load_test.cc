#include "experiments/hosts/foreign_load.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/topology.h"

namespace cosched {
namespace {

constexpr char kStat[] =
    "cpu  600 60 60 9000 90 6 6 6 0 0\n"
    "cpu0 100 10 20 3000 30 1 2 3 0 0\n"
    "cpu1 200 20 20 3000 30 2 2 2 0 0\n"
    "cpu11 300 30 20 3000 30 3 2 1 0 0\n"
    "intr 12345 0 0\n";

TEST(BusyTimeTest, CountsWhatTheNamedCpusUsedAndNeitherIdleNorTheSum) {
  EXPECT_EQ(BusyTime(kStat, {0}, 100), std::chrono::milliseconds(1360));
  EXPECT_EQ(BusyTime(kStat, {1, 11}, 100), std::chrono::milliseconds(2460 + 3560));
  EXPECT_EQ(BusyTime(kStat, {5}, 100), Duration(0));
  EXPECT_EQ(BusyTime("", {0}, 100), Duration(0));
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
