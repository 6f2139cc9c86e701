#include "experiments/wire/shared_counters.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <thread>

namespace cosched {
namespace {

using std::chrono::nanoseconds;

SharedCounters TenantSide(const SharedCounters& host) {
  return SharedCounters::Map(UniqueFd(dup(host.fd())));
}

TEST(SharedCountersTest, HostSeesWhatTheTenantWrites) {
  SharedCounters host = SharedCounters::Create();
  SharedCounters tenant = TenantSide(host);
  tenant.Beat();
  tenant.SetThreads(3);
  tenant.SetSettled(5);
  tenant.SetResizes(2, nanoseconds(40), 1, nanoseconds(30));
  tenant.AddStep({0, nanoseconds(900), nanoseconds(100), 3, 2.5}, 32);
  const SharedCounters::Counters counters = host.Read();
  EXPECT_EQ(counters.heartbeats, 1);
  EXPECT_LE(counters.heartbeat, MonotonicNow());
  EXPECT_EQ(counters.active_threads, 3);
  EXPECT_EQ(counters.settled_sequence, 5);
  EXPECT_EQ(counters.grows, 2);
  EXPECT_EQ(counters.last_shrink, nanoseconds(30));
  EXPECT_EQ(counters.steps, 1);
  EXPECT_EQ(counters.images, 32);
  std::vector<SharedCounters::Step> steps;
  ASSERT_TRUE(host.TakeSteps(&steps));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].finished, nanoseconds(900));
  EXPECT_EQ(steps[0].threads, 3);
  EXPECT_EQ(steps[0].loss, 2.5);
  ASSERT_TRUE(host.TakeSteps(&steps));
  EXPECT_EQ(steps.size(), 1u);
}

TEST(SharedCountersTest, HostSeesTheStagesOfAPipeline) {
  SharedCounters host = SharedCounters::Create();
  SharedCounters tenant = TenantSide(host);
  EXPECT_EQ(host.ReadPipeline(), PipelineCounters());
  PipelineCounters pipeline{.open = 3, .open_requests = 4};
  for (int64_t i = 0; i < static_cast<int64_t>(SharedCounters::kMostStages); ++i) {
    pipeline.stages.push_back({i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8,
                               nanoseconds(i + 9), nanoseconds(i + 10), i % 2 == 0});
  }
  tenant.SetPipeline(pipeline);
  EXPECT_EQ(host.ReadPipeline(), pipeline);
}

// Each process has the page at an address of its own.
TEST(SharedCountersTest, HostSeesWhoSpins) {
  const SharedCounters host = SharedCounters::Create();
  SharedCounters tenant = TenantSide(host);
  ASSERT_EQ(host.InterRecords().size(), SharedCounters::kRecords);
  ASSERT_EQ(host.IntraRecords().size(), SharedCounters::kRecords);
  tenant.InterRecords().front().without_work = 1;
  tenant.IntraRecords().front().spin_time = 7;
  tenant.IntraRecords().back().spin_time = 8;
  EXPECT_EQ(host.InterRecords().front().without_work, 1u);
  EXPECT_EQ(host.InterRecords().front().spin_time, 0);
  EXPECT_EQ(host.InterRecords().back().spin_time, 0);
  EXPECT_EQ(host.IntraRecords().front().without_work, 0u);
  EXPECT_EQ(host.IntraRecords().front().spin_time, 7);
  EXPECT_EQ(host.IntraRecords().back().spin_time, 8);
}

// Records that nobody uses take no memory: there are half a megabyte of them.
TEST(SharedCountersTest, UnusedRecordsTakeNoMemory) {
  const SharedCounters host = SharedCounters::Create();
  TenantSide(host).InterRecords()[5].without_work = 1;
  struct stat status {};
  ASSERT_EQ(fstat(host.fd(), &status), 0);
  EXPECT_GE(status.st_size, static_cast<off_t>(SharedCounters::kRecords * 2 * sizeof(WorkRecord)));
  EXPECT_LE(status.st_blocks * 512, 64 << 10);
}

TEST(SharedCountersTest, FullRingDropsAndCounts) {
  SharedCounters host = SharedCounters::Create();
  SharedCounters tenant = TenantSide(host);
  const auto most = static_cast<int64_t>(SharedCounters::kRingSize);
  for (int64_t step = 0; step < most + 10; ++step) tenant.AddStep({step, {}, {}, 1, 0}, 1);
  std::vector<SharedCounters::Step> steps;
  ASSERT_TRUE(host.TakeSteps(&steps));
  EXPECT_EQ(static_cast<int64_t>(steps.size()), most);
  EXPECT_EQ(steps.back().step, most - 1);
  EXPECT_EQ(host.Read().steps, most + 10);
  EXPECT_EQ(host.Read().steps_dropped, 10);
  tenant.AddStep({77, {}, {}, 1, 0}, 1);
  ASSERT_TRUE(host.TakeSteps(&steps));
  EXPECT_EQ(steps.back().step, 77);
}

TEST(SharedCountersTest, StepsArriveInOrderWhileBothRun) {
  SharedCounters host = SharedCounters::Create();
  constexpr int64_t kSteps = 50000;
  std::thread writer([&host] {
    SharedCounters tenant = TenantSide(host);
    for (int64_t step = 0; step < kSteps; ++step) tenant.AddStep({step, {}, {}, 1, 0.5}, 1);
  });
  std::vector<SharedCounters::Step> steps;
  while (host.Read().steps < kSteps) ASSERT_TRUE(host.TakeSteps(&steps));
  writer.join();
  ASSERT_TRUE(host.TakeSteps(&steps));
  EXPECT_EQ(static_cast<int64_t>(steps.size()) + host.Read().steps_dropped, kSteps);
  for (size_t i = 1; i < steps.size(); ++i) ASSERT_LT(steps[i - 1].step, steps[i].step);
}

// Whatever bytes the tenant leaves in the page, the host stays inside the ring and says so.
TEST(SharedCountersTest, ImpossibleIndexIsAnError) {
  SharedCounters host = SharedCounters::Create();
  struct stat status {};
  ASSERT_EQ(fstat(host.fd(), &status), 0);
  const auto size = static_cast<size_t>(status.st_size);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, host.fd(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 0xee, size);
  munmap(memory, size);
  std::vector<SharedCounters::Step> steps;
  EXPECT_FALSE(host.TakeSteps(&steps));
  EXPECT_FALSE(host.TakeSteps(&steps));
  EXPECT_TRUE(steps.empty());
  EXPECT_GE(host.Read().active_threads, 0);
  EXPECT_GE(host.Read().steps, 0);
}

TEST(SharedCountersTest, TenantCannotShrinkThePage) {
  const SharedCounters host = SharedCounters::Create();
  EXPECT_NE(ftruncate(host.fd(), 0), 0);
}

TEST(SharedCountersTest, RefusesOtherFiles) {
  UniqueFd file(memfd_create("other", MFD_CLOEXEC));
  EXPECT_THROW(SharedCounters::Map(UniqueFd(dup(file.get()))), std::runtime_error);
  struct stat status {};
  ASSERT_EQ(fstat(SharedCounters::Create().fd(), &status), 0);
  ASSERT_EQ(ftruncate(file.get(), status.st_size), 0);  // The right size, but no page.
  EXPECT_THROW(SharedCounters::Map(std::move(file)), std::runtime_error);
}

}  // namespace
}  // namespace cosched
