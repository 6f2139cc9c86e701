#include "experiments/os/offline_cpus.h"

#include <gtest/gtest.h>

#include "engine/base/topology.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

TEST(OfflineCpusTest, AreThoseThatTheKernelDoesNotName) {
  const TemporaryFolder folder;
  const std::filesystem::path online = folder.path() / "online";
  WriteText(online, "0-2,5-7\n");
  EXPECT_EQ(OfflineOf({1, 3, 4, 7}, online), (CpuSet{3, 4}));
  EXPECT_EQ(OfflineText({1, 3, 4, 7}, online), "CPUs 3-4 are not online");
  EXPECT_EQ(OfflineText({2, 3}, online), "CPU 3 is not online");
  EXPECT_EQ(OfflineText({0, 7}, online), "");
}

TEST(OfflineCpusTest, NobodyKnowsOfNoneWhereTheListIsNotThere) {
  const TemporaryFolder folder;
  EXPECT_EQ(OfflineText({0, 1}, folder.path() / "none"), "");
}

TEST(OfflineCpusTest, WhatThisProcessMayUseIsInService) {
  EXPECT_EQ(OfflineText(Topology::ThisMachine().Cpus()), "");
}

}  // namespace
}  // namespace cosched
