#include "experiments/hosts/memory_mover.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "experiments/os/process_memory.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

NumaNodes Nodes(const char* text) { return {*CpuSet::Parse(text)}; }

// What CPU 0 and 1 are of here is made up; the process whose memory is moved is this one.
class MemoryMoverTest : public ::testing::Test {
 protected:
  static constexpr char kNoSuchNode[] = "3000";

  void SetUp() override {
    if (!MemoryOf(getpid())) GTEST_SKIP() << "this kernel knows no NUMA nodes";
  }
  NumaMap MapWith(const std::string& other_node) const {
    WriteText(folder_.path() / "node0" / "cpulist", "0\n");
    WriteText(folder_.path() / ("node" + other_node) / "cpulist", "1\n");
    return NumaMap::FromSysfs(folder_.path());
  }
  static void Settle(MemoryMover* mover, JobId job, int cpu, int mems = -1) {
    mover->Grant(job, {cpu});
    mover->Settle(job, {cpu}, {getpid()}, mems);
  }
  static MemoryMove Await(MemoryMover* mover) {
    for (int i = 0; i < 20'000; ++i) {
      const std::vector<MemoryMove> moves = mover->Take();
      EXPECT_LE(moves.size(), 1u);
      if (!moves.empty()) return moves.front();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "nothing was moved";
    return {};
  }

  const RealClock clock_;
  const Topology topology_ = Topology::ThisMachine();
  const TemporaryFolder folder_;
};

TEST_F(MemoryMoverTest, OneNodeIsNotWatched) {
  MemoryMover mover(topology_, NumaMap(), MemoryMode::kFollow, &clock_);
  EXPECT_FALSE(mover.Watches());
  Settle(&mover, {1}, 0);
  Settle(&mover, {1}, 1);
  EXPECT_TRUE(mover.Take().empty());
}

TEST_F(MemoryMoverTest, AMachineThatIsNotHereIsNotWatched) {
  const Topology there = Topology::Synthetic("pack:2 [numa] core:1 pu:1");
  MemoryMover mover(there, NumaMap::Of(there), MemoryMode::kFollow, &clock_);
  EXPECT_FALSE(mover.Watches());
}

TEST_F(MemoryMoverTest, MemoryFollowsToTheNodesOfTheCores) {
  MemoryMover mover(topology_, MapWith("1"), MemoryMode::kFollow, &clock_);
  EXPECT_TRUE(mover.Watches());
  Settle(&mover, {7}, 1);
  Settle(&mover, {7}, 0);
  const MemoryMove move = Await(&mover);
  EXPECT_EQ(move.job, JobId{7});
  EXPECT_EQ(move.from, Nodes("1"));
  EXPECT_EQ(move.to, Nodes("0"));
  EXPECT_EQ(move.outcome, kMemoryMoved);
  EXPECT_GT(move.taken, Duration(0));
  EXPECT_TRUE(mover.TakeMarks().empty());
  // It has none on node 1 any more.
  Settle(&mover, {7}, 0);
  mover.Grant({7}, {0, 1});
  mover.Settle({7}, {0, 1}, {getpid()}, -1);
  EXPECT_TRUE(mover.Take().empty());
}

TEST_F(MemoryMoverTest, WhatTheKernelRefusesIsToldOnce) {
  MemoryMover mover(topology_, MapWith(kNoSuchNode), MemoryMode::kFollow, &clock_);
  std::vector<std::string> marks;
  for (const int64_t job : {1, 2}) {
    Settle(&mover, {job}, 0);
    Settle(&mover, {job}, 1);
    const MemoryMove move = Await(&mover);
    EXPECT_EQ(move.outcome, kMemoryRefused);
    EXPECT_EQ(move.to, Nodes(kNoSuchNode));
    EXPECT_EQ(move.bytes, 0);
    EXPECT_GT(move.left, 0);
    for (const std::string& mark : mover.TakeMarks()) marks.push_back(mark);
  }
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_NE(marks[0].find("did not follow to other NUMA nodes"), std::string::npos) << marks[0];
}

TEST_F(MemoryMoverTest, MemoryThatStaysIsOnlyTold) {
  MemoryMover mover(topology_, MapWith("1"), MemoryMode::kStay, &clock_);
  Settle(&mover, {1}, 1);
  mover.Grant({1}, {0, 1});
  mover.Settle({1}, {0, 1}, {getpid()}, -1);
  EXPECT_TRUE(mover.Take().empty());
  Settle(&mover, {1}, 0);
  const MemoryMove move = Await(&mover);
  EXPECT_EQ(move.from, Nodes("1"));
  EXPECT_EQ(move.outcome, kMemoryStayed);
  EXPECT_EQ(move.bytes, 0);
}

TEST_F(MemoryMoverTest, BoundMemoryIsBoundFromTheStart) {
  MemoryMover mover(topology_, MapWith("1"), MemoryMode::kBind, &clock_);
  const UniqueFd mems(memfd_create("mems", MFD_CLOEXEC));
  Settle(&mover, {1}, 1, mems.get());
  char written[8] = "";
  for (int i = 0; i < 20'000 && pread(mems.get(), written, sizeof written, 0) <= 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_STREQ(written, "1");
  EXPECT_TRUE(mover.Take().empty());  // No move.
}

TEST_F(MemoryMoverTest, ABindingThatIsRefusedIsTold) {
  MemoryMover mover(topology_, MapWith("1"), MemoryMode::kBind, &clock_);
  const UniqueFd not_for_writing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  mover.Grant({1}, {1});
  Settle(&mover, {1}, 0, not_for_writing.get());
  EXPECT_EQ(Await(&mover).outcome, kMemoryRefused);
  const std::vector<std::string> marks = mover.TakeMarks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_NE(marks[0].find("was not bound to NUMA nodes"), std::string::npos) << marks[0];
}

TEST_F(MemoryMoverTest, WhatHasEndedIsNotTold) {
  MemoryMover mover(topology_, MapWith("1"), MemoryMode::kFollow, &clock_);
  Settle(&mover, {1}, 1);
  mover.Forget({1});
  mover.Settle({1}, {0}, {getpid()}, -1);
  EXPECT_TRUE(mover.Take().empty());
}

}  // namespace
}  // namespace cosched
