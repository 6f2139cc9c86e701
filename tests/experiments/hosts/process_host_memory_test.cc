// What a host does about memory when tenants change NUMA nodes, with nodes that are made up: where
// pages really are is tested where there are several (tests/native/numa_memory_test.cc).

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "experiments/os/process_memory.h"
#include "tests/experiments/hosts/process_host_fixture.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

constexpr int kNoSuchNode = 3000;  // To the kernel.

class ProcessHostMemoryTest : public ProcessHostTest {
 protected:
  void SetUp() override {
    if (two_.Count() < 2) GTEST_SKIP() << "needs two cores";
    if (!MemoryOf(getpid())) GTEST_SKIP() << "this kernel knows no NUMA nodes";
    WriteText(folder_.path() / "node0/cpulist", one_.ToString() + "\n");
    WriteText(folder_.path() / ("node" + std::to_string(kNoSuchNode)) / "cpulist",
              other_.ToString() + "\n");
    options_.numa = NumaMap::FromSysfs(folder_.path());
  }
  void MoveTo(JobId job, const CpuSet& cores) {
    Host().Grant(job, Place::Whole(cores, DefaultSplit(cores.Count())));
    ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
  }
  MemoryMove AwaitMove() {
    for (int i = 0; i < 400; ++i) {
      const std::vector<MemoryMove> moves = Host().TakeMemoryMoves();
      EXPECT_LE(moves.size(), 1u);
      if (!moves.empty()) return moves.front();
      EXPECT_FALSE(Next(milliseconds(50)));
    }
    ADD_FAILURE() << "nothing was told of memory";
    return {};
  }

  const TemporaryFolder folder_;
  const CpuSet other_ = two_ - one_;
};

// Told once for all its tenants and moves.
TEST_F(ProcessHostMemoryTest, ATenantWhoseMemoryCannotFollowGoesOn) {
  for (const Elasticity elasticity : {Elasticity::kMalleable, Elasticity::kRigid}) {
    const JobId job = Start("obedient", one_, kForever, elasticity);
    ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
    ASSERT_NO_FATAL_FAILURE(MoveTo(job, other_));
    const MemoryMove there = AwaitMove();
    EXPECT_EQ(there.job, job);
    EXPECT_EQ(there.outcome, kMemoryRefused);
    EXPECT_EQ(there.from, NumaNodes{{0}});
    EXPECT_EQ(there.to, NumaNodes{{kNoSuchNode}});
    EXPECT_GT(there.left, 0);
    ExpectStepsBeyond(OnlySample().steps);
    ASSERT_NO_FATAL_FAILURE(MoveTo(job, one_));
    EXPECT_EQ(AwaitMove().outcome, kMemoryRefused);
    Host().Stop(job);
    ExpectNothingToSample();
  }
  const std::vector<std::string> marks = Host().TakeMarks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_NE(marks[0].find("memory did not follow to other NUMA nodes"), std::string::npos);
}

TEST_F(ProcessHostMemoryTest, WithinItsNodesNothingIsDone) {
  const JobId job = Start("obedient", two_);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
  Host().Pause(job);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
  ASSERT_NO_FATAL_FAILURE(MoveTo(job, two_));
  EXPECT_FALSE(Next(milliseconds(200)));
  EXPECT_TRUE(Host().TakeMemoryMoves().empty());
}

TEST_F(ProcessHostMemoryTest, MemoryThatIsToStayIsLeftThere) {
  options_.memory = MemoryMode::kStay;
  const JobId job = Start("obedient", one_);
  ASSERT_NO_FATAL_FAILURE(ExpectSettled(job));
  ASSERT_NO_FATAL_FAILURE(MoveTo(job, other_));
  EXPECT_EQ(AwaitMove().outcome, kMemoryStayed);
  EXPECT_TRUE(Host().TakeMarks().empty());
}

}  // namespace
}  // namespace cosched
