// How soon, and as how many threads, a tenant sees the quotas of its cgroups.

#include "experiments/tenant/cpu_limit_watch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <tuple>

#include "tests/experiments/os/fake_quotas.h"

namespace cosched {
namespace {

class CpuLimitWatchTest : public testing::Test, protected FakeQuotas {
 protected:
  // Whether a write was heard of; takes it.
  static bool Heard(CpuLimitWatch* watch) {
    pollfd written{watch->fd(), POLLIN, 0};
    const bool heard = poll(&written, 1, 0) == 1;
    watch->Drain();
    return heard;
  }
  // A look where nothing was heard of: nothing is seen before its time.
  bool SeenInTime(CpuLimitWatch* watch) {
    EXPECT_FALSE(watch->Look(start_));
    return watch->Look(start_ + std::chrono::hours(1));
  }

  // Before any watch is made.
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TEST_F(CpuLimitWatchTest, HearsOfAWriteToItsOwnQuotaAtOnce) {
  UseVersion2("/a/b");
  SetVersion2("a/b", "max 100000");
  CpuLimitWatch watch(mounts);
  EXPECT_FALSE(watch.Threads());
  EXPECT_FALSE(Heard(&watch));
  const std::pair<const char*, int> quotas[] = {{"130000 100000", 2}, {"30000 100000", 1},
                                                {"200000 100000", 2}, {"200001 100000", 3},
                                                {"1000 100000", 1},   {"25000 10000", 3}};
  for (const auto& [quota, threads] : quotas) {
    SetVersion2("a/b", quota);
    EXPECT_TRUE(Heard(&watch)) << quota;
    EXPECT_TRUE(watch.Look(start_)) << quota;
    EXPECT_EQ(watch.Threads(), threads) << quota;
    EXPECT_FALSE(watch.Look(start_)) << "it is no news any more";
  }
  SetVersion2("a/b", "290000 100000");
  EXPECT_TRUE(Heard(&watch));
  EXPECT_FALSE(watch.Look(start_)) << "three threads, as before";
  SetVersion2("a/b", "max 100000");
  EXPECT_TRUE(Heard(&watch));
  EXPECT_TRUE(watch.Look(start_));
  EXPECT_FALSE(watch.Threads());
}

TEST_F(CpuLimitWatchTest, HearsOfBothFilesOfVersion1) {
  UseVersion1("/docker/7");
  SetVersion1("docker/7", "-1");
  CpuLimitWatch watch(mounts);
  SetVersion1("docker/7", "150000");
  EXPECT_TRUE(Heard(&watch));
  EXPECT_TRUE(watch.Look(start_));
  EXPECT_EQ(watch.Threads(), 2);
  WriteText(Root() / "docker/7/cpu.cfs_period_us", "50000\n");
  EXPECT_TRUE(Heard(&watch));
  EXPECT_TRUE(watch.Look(start_));
  EXPECT_EQ(watch.Threads(), 3);
}

TEST_F(CpuLimitWatchTest, HearsOfQuotasAboveItsGroupAtOnce) {
  UseVersion2("/a/b");
  SetVersion2("a/b", "300000 100000");
  SetVersion2("a", "max 100000");
  CpuLimitWatch watch(mounts);
  EXPECT_EQ(watch.Threads(), 3);
  SetVersion2("a", "100000 100000");
  EXPECT_TRUE(Heard(&watch));
  EXPECT_TRUE(watch.Look(start_));
  EXPECT_EQ(watch.Threads(), 1);
}

TEST_F(CpuLimitWatchTest, RoundsByItsRule) {
  UseVersion2("/a/b");
  SetVersion2("a", "350000 100000");
  for (const auto& [quota, ceil, floor] :
       {std::tuple("150000 100000", 2, 1), std::tuple("50000 100000", 1, 1),
        std::tuple("200000 100000", 2, 2), std::tuple("299999 100000", 3, 2),
        std::tuple("900000 100000", 4, 3)}) {
    SetVersion2("a/b", quota);
    EXPECT_EQ(CpuLimitWatch(mounts, FollowRule::kCeil).Threads(), ceil) << quota;
    EXPECT_EQ(CpuLimitWatch(mounts, FollowRule::kFloor).Threads(), floor) << quota;
  }
  EXPECT_EQ(CpuLimitWatch(mounts, FollowRule::kOwn).Threads(), 9) << "its own alone";
  SetVersion2("a/b", "max 100000");
  EXPECT_FALSE(CpuLimitWatch(mounts, FollowRule::kOwn).Threads());
}

TEST_F(CpuLimitWatchTest, FollowsItsProcessToAnotherGroup) {
  UseVersion2("/a");
  SetVersion2("a", "100000 100000");
  SetVersion2("c", "400000 100000");
  CpuLimitWatch watch(mounts);
  UseVersion2("/c");
  EXPECT_TRUE(SeenInTime(&watch));
  EXPECT_EQ(watch.Threads(), 4);
  SetVersion2("c", "500000 100000");
  EXPECT_TRUE(Heard(&watch));
  EXPECT_TRUE(watch.Look(start_));
  EXPECT_EQ(watch.Threads(), 5);
}

TEST_F(CpuLimitWatchTest, WithoutAControllerThereIsNoLimit) {
  CpuLimitWatch watch(mounts);
  EXPECT_EQ(watch.fd(), -1);
  EXPECT_FALSE(watch.Threads());
}

}  // namespace
}  // namespace cosched
