#include "experiments/tenant/cpuset_watch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "experiments/tenant/demand.h"
#include "tests/experiments/tenant/process_in_turns.h"

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

TEST_F(CpusetWatchTest, HearsOfAWriteToItsCpusetAlsoInAnotherGroupThanAtFirst) {
  const Cgroup::Support support = Cgroup::Probe();
  if (!support.cpuset) GTEST_SKIP() << "no cpuset cgroup can be made here: " << support.why_not;
  Cgroup group = Cgroup::Create(OwnerName() + "-watchtest", all_);
  const int code = RunInTurns(
      [this](const Turn& turn) {
        CpusetWatch watch(topology_);
        if (!turn.Yield()) return 1;  // It is in the group, which has one core.
        if (!watch.Look() || watch.Mask() != one_) return 2;
        if (watch.fd() < 0) return 3;
        watch.Drain();
        if (!turn.Yield()) return 1;  // The group has two.
        pollfd written{watch.fd(), POLLIN, 0};
        if (poll(&written, 1, 0) != 1) return 4;
        watch.Drain();
        if (poll(&written, 1, 0) != 0) return 5;
        return watch.Look() && watch.Mask() == all_ ? 0 : 6;
      },
      [&](pid_t process, const Turn& turn) {
        ASSERT_TRUE(turn.Await());
        group.SetCores(one_);
        group.Attach(process);
        turn.Pass();
        ASSERT_TRUE(turn.Await());
        group.SetCores(all_);
        turn.Pass();
      });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace cosched
