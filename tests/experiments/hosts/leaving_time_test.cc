#include "experiments/hosts/leaving_time.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <vector>

namespace cosched {
namespace {

using std::chrono::milliseconds;

class LeavingTimeTest : public testing::Test {
 protected:
  static ProcessSampler::Thread Worker(char state) {
    ProcessSampler::Thread thread;
    thread.tid = 7;
    thread.compute = true;
    thread.worker = PoolThread{PoolThread::Pool::kIntra, 0};
    thread.state = state;
    return thread;
  }
  bool IsUp(milliseconds after, milliseconds used, char state) {
    return leaving_.IsUp(told_ + after, milliseconds(1000) + used, {Worker(state)});
  }
  void Tell(char state) { leaving_.Begin(told_, milliseconds(1000), {Worker(state)}); }

  const TimePoint told_{milliseconds(5000)};
  std::array<WorkRecord, 2> inter_, intra_;  // The first is the pool's.
  LeavingTime leaving_{WorkingThreads(inter_, intra_), milliseconds(250), milliseconds(2000)};
};

TEST_F(LeavingTimeTest, IsUpAtTheDeadlineForWhoComputedOrSleeps) {
  Tell('R');
  EXPECT_FALSE(IsUp(milliseconds(249), milliseconds(249), 'R'));
  EXPECT_TRUE(IsUp(milliseconds(250), milliseconds(250), 'R'));
  EXPECT_TRUE(IsUp(milliseconds(250), milliseconds(0), 'S')) << "nothing keeps it";
}

TEST_F(LeavingTimeTest, LastsWhileATenantWantsACoreThatItDoesNotGet) {
  Tell('R');
  EXPECT_FALSE(IsUp(milliseconds(1000), milliseconds(100), 'R'));
  EXPECT_FALSE(IsUp(milliseconds(1000), milliseconds(100), 'D'));
  EXPECT_FALSE(IsUp(milliseconds(1249), milliseconds(250), 'R')) << "it has had its time just now";
  EXPECT_TRUE(IsUp(milliseconds(1250), milliseconds(250), 'R'));
  EXPECT_TRUE(IsUp(milliseconds(2000), milliseconds(100), 'R')) << "not for ever";
}

TEST_F(LeavingTimeTest, LastsUntilTheTaskEndsThatWasRunning) {
  intra_[1].tasks = 40;
  Tell('R');
  EXPECT_FALSE(IsUp(milliseconds(1000), milliseconds(1000), 'R'));
  EXPECT_TRUE(IsUp(milliseconds(2000), milliseconds(1000), 'R')) << "not for ever";
  intra_[1].tasks = 41;
  EXPECT_FALSE(IsUp(milliseconds(1249), milliseconds(1000), 'R')) << "it still has to leave";
  EXPECT_TRUE(IsUp(milliseconds(1250), milliseconds(1000), 'R'));
}

TEST_F(LeavingTimeTest, ATaskThatBeginsLaterIsNoReason) {
  intra_[1].without_work = 1;
  intra_[1].tasks = 40;
  Tell('S');
  intra_[1].without_work = 0;
  EXPECT_TRUE(IsUp(milliseconds(250), milliseconds(250), 'R'));
}

}  // namespace
}  // namespace cosched
