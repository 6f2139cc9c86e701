#include "experiments/hosts/working_threads.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace cosched {
namespace {

using std::chrono::milliseconds;
using Pool = PoolThread::Pool;

class WorkingThreadsTest : public ::testing::Test {
 protected:
  static ProcessSampler::Thread Thread(Pool pool, int index, char state) {
    return {.tid = 1 + index, .compute = true, .worker = PoolThread{pool, index}, .state = state};
  }
  static void Tell(WorkRecord* record, bool has_work, int64_t spun) {
    record->without_work = has_work ? 0 : 1;
    record->spin_time = spun;
  }

  std::array<WorkRecord, 3> inter_;  // The first is the pool's.
  std::array<WorkRecord, 4> intra_;
  WorkingThreads working_{inter_, intra_};
};

// Two threads of which one always spins: one is runnable, and one core is used.
TEST_F(WorkingThreadsTest, SpinnersAreNeitherRunnableNorUse) {
  Tell(&inter_[1], true, 0);
  Tell(&intra_[1], false, 990'000'000);
  const std::vector<ProcessSampler::Thread> threads = {Thread(Pool::kInter, 0, 'R'),
                                                       Thread(Pool::kIntra, 0, 'R')};
  EXPECT_EQ(working_.Runnable(threads), 1);
  EXPECT_EQ(working_.SpinTime(threads, milliseconds(2000)), milliseconds(990));
}

// One core, two threads: while the one computes, the other can't even hear that there is work.
TEST_F(WorkingThreadsTest, WhoWaitsForACoreWhileThereIsWorkIsRunnable) {
  Tell(&intra_[1], false, 0);
  Tell(&intra_[2], false, 0);
  const std::vector<ProcessSampler::Thread> threads = {
      Thread(Pool::kInter, 0, 'R'), Thread(Pool::kIntra, 0, 'R'), Thread(Pool::kIntra, 1, 'S')};
  EXPECT_EQ(working_.Runnable(threads), 1);
  intra_[0].untaken = 1;
  EXPECT_EQ(working_.Runnable(threads), 2);
  intra_[0].untaken = -1;  // A tenant may write anything.
  EXPECT_EQ(working_.Runnable(threads), 1);
}

TEST_F(WorkingThreadsTest, SleepersAndOthersAreNotRunnable) {
  ProcessSampler::Thread other = Thread(Pool::kInter, 1, 'R');
  other.compute = false;
  other.worker.reset();
  EXPECT_EQ(working_.Runnable({Thread(Pool::kInter, 0, 'S'), other}), 0);
}

TEST_F(WorkingThreadsTest, ThreadsWithoutARecordWork) {
  EXPECT_EQ(working_.Runnable({Thread(Pool::kInter, 2, 'R'), Thread(Pool::kIntra, 4000, 'R')}), 2);
  EXPECT_EQ(working_.SpinTime({Thread(Pool::kIntra, 4000, 'R')}, milliseconds(1)), Duration(0));
}

TEST_F(WorkingThreadsTest, TimeOfThreadsThatAreGoneStays) {
  Tell(&intra_[2], false, 5'000'000);
  EXPECT_EQ(working_.SpinTime({Thread(Pool::kIntra, 1, 'S')}, milliseconds(8)), milliseconds(5));
  Tell(&intra_[1], false, 1'000'000);
  EXPECT_EQ(working_.SpinTime({}, milliseconds(8)), milliseconds(6));
}

// Whatever a tenant writes, it never spun for longer than it ran, and time does not go back.
TEST_F(WorkingThreadsTest, NonsenseIsBounded) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<ProcessSampler::Thread> threads = {Thread(Pool::kInter, 1, 'R'),
                                                       Thread(Pool::kIntra, 2, 'R')};
  Tell(&inter_[1], false, -kMost);
  Tell(&inter_[2], false, 2'000'000);
  EXPECT_EQ(working_.SpinTime(threads, milliseconds(10)), milliseconds(2));
  for (WorkRecord& record : inter_) Tell(&record, false, kMost);
  for (WorkRecord& record : intra_) Tell(&record, false, kMost);
  EXPECT_EQ(working_.SpinTime(threads, milliseconds(10)), milliseconds(10));
  for (WorkRecord& record : inter_) Tell(&record, false, -1);
  EXPECT_EQ(working_.SpinTime(threads, milliseconds(12)), milliseconds(12));
  for (WorkRecord& record : intra_) Tell(&record, false, -1);
  EXPECT_EQ(working_.SpinTime(threads, milliseconds(14)), milliseconds(12));
  EXPECT_EQ(working_.Runnable(threads), 0);
}

}  // namespace
}  // namespace cosched
