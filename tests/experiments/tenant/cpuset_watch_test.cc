#include "experiments/tenant/cpuset_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "experiments/tenant/demand.h"

namespace cosched {
namespace {

// On a thread of its own, whose mask is then changed.
class CpusetWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (all_.Count() < 2) GTEST_SKIP() << "needs two cores";
  }

  const Topology topology_ = Topology::ThisMachine();
  const CpuSet all_ = FirstCores(topology_.Cpus(), 2), one_ = FirstCores(all_, 1);
};

TEST_F(CpusetWatchTest, SeesEachChangeOfTheAffinityMaskOnce) {
  std::thread([this] {
    topology_.BindThread(0, all_);
    CpusetWatch watch(topology_);
    EXPECT_FALSE(watch.Look());
    EXPECT_EQ(watch.Mask(), all_);
    for (const CpuSet& cores : {one_, all_, all_ - one_}) {
      ASSERT_TRUE(topology_.BindThread(0, cores));
      EXPECT_TRUE(watch.Look());
      EXPECT_EQ(watch.Mask(), cores);
      EXPECT_FALSE(watch.Look());
    }
  }).join();
}

TEST_F(CpusetWatchTest, ItsOwnMoveIsNoNews) {
  std::thread([this] {
    topology_.BindThread(0, all_);
    CpusetWatch watch(topology_);
    watch.MoveWitness(one_);
    EXPECT_EQ(watch.Mask(), one_);
    EXPECT_FALSE(watch.Look());
  }).join();
}

// In a child, which can be moved to a group without moving the tests.
TEST_F(CpusetWatchTest, HearsOfAWriteToItsCpusetAlsoInAnotherGroupThanAtFirst) {
  const Cgroup::Support support = Cgroup::Probe();
  if (!support.cpuset) GTEST_SKIP() << "no cpuset cgroup can be made here: " << support.why_not;
  Cgroup group = Cgroup::Create(OwnerName() + "-watchtest", all_);
  int to_child[2], to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    const auto next = [&] {
      return write(to_parent[1], &byte, 1) == 1 && read(to_child[0], &byte, 1) == 1;
    };
    CpusetWatch watch(topology_);
    if (!next()) _exit(1);  // The child is in the group of one core.
    if (!watch.Look() || watch.Mask() != one_) _exit(2);
    if (watch.fd() < 0) _exit(3);
    watch.Drain();
    if (!next()) _exit(1);  // The group has two.
    pollfd written{watch.fd(), POLLIN, 0};
    if (poll(&written, 1, -1) != 1) _exit(4);
    watch.Drain();
    if (poll(&written, 1, 0) != 0) _exit(5);
    _exit(watch.Look() && watch.Mask() == all_ ? 0 : 6);
  }
  close(to_parent[1]);  // So that the child's end ends a read.
  char byte = 0;
  ASSERT_EQ(read(to_parent[0], &byte, 1), 1);
  group.SetCores(one_);
  group.Attach(child);
  ASSERT_EQ(write(to_child[1], &byte, 1), 1);
  if (read(to_parent[0], &byte, 1) == 1) {
    group.SetCores(all_);
    ASSERT_EQ(write(to_child[1], &byte, 1), 1);
  }
  close(to_child[1]);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  for (const int fd : {to_child[0], to_parent[0]}) close(fd);
}

}  // namespace
}  // namespace cosched
