#include "experiments/hosts/tenant_conduct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "engine/base/topology.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr Duration kTimeout = milliseconds(1000);

TimePoint At(int ms) { return TimePoint(milliseconds(ms)); }

class TenantConductTest : public testing::Test {
 protected:
  TenantConductTest() { conduct_.Settle(At(0)); }

  std::string Look(int ms) { return conduct_.CheckAlive(signs_, At(now_ms_ = ms)); }
  // Every 200 ms, and then; the first bad verdict.
  std::string LookUntil(int ms, const std::function<void()>& before_each) {
    std::string wrong;
    while (now_ms_ < ms && wrong.empty()) {
      before_each();
      wrong = Look(std::min(now_ms_ + 200, ms));
    }
    return wrong;
  }

  const Topology topology_ = Topology::ThisMachine();
  TenantConduct conduct_{&topology_, kTimeout};
  TenantConduct::Signs signs_{.heartbeats = 1, .steps = 1, .run_time = milliseconds(1)};
  int now_ms_ = 0;
};

TEST_F(TenantConductTest, WantsAHeartbeatAndTimeOnACore) {
  EXPECT_EQ(Look(100), "");
  EXPECT_EQ(LookUntil(1100, [this] { ++signs_.heartbeats; }), "");
  EXPECT_EQ(LookUntil(1101, [this] { ++signs_.heartbeats; }),
            "hangs: none of its threads computed within 1000 ms");
  EXPECT_EQ(LookUntil(2101, [this] { signs_.run_time += milliseconds(1); }), "");
  EXPECT_EQ(LookUntil(2102, [this] { signs_.run_time += milliseconds(1); }),
            "gave no heartbeat within 1000 ms");
}

// The machine was suspended, or whoever looks was not scheduled: nor may the tenant have been.
TEST_F(TenantConductTest, OneLateLookIsNoVerdict) {
  EXPECT_EQ(Look(100), "");
  EXPECT_EQ(Look(700), "");
  EXPECT_EQ(Look(60'000), "");
  EXPECT_EQ(Look(60'200), "");
  EXPECT_EQ(LookUntil(60'500, [] {}), "");
  EXPECT_EQ(Look(60'501), "gave no heartbeat within 1000 ms");
}

// As under a policy of turns, after which its threads wake up, and sleep again if they hang: what it
// did not show in some turns it has to show in the next.
TEST_F(TenantConductTest, TurnsDoNotHideAHang) {
  const auto turn = [&](int from, Duration going_on, Duration computing) {
    conduct_.Settle(At(now_ms_ = from));
    signs_.run_time += going_on;
    ++signs_.heartbeats;
    EXPECT_EQ(Look(from + 1), "");
    EXPECT_EQ(Look(from + 100), "");
    signs_.run_time += computing;
    const std::string wrong = LookUntil(from + 500, [] {});
    conduct_.Excuse();
    return wrong;
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(turn(i * 5000, milliseconds(1), milliseconds(1)), "") << i;
  }
  EXPECT_EQ(turn(100'000, milliseconds(1), {}), "");
  EXPECT_EQ(turn(105'000, milliseconds(1), {}), "");
  EXPECT_EQ(turn(110'000, milliseconds(1), {}),
            "hangs: none of its threads computed within 1000 ms");
}

// As under a policy whose turns are shorter than looks are apart.
TEST_F(TenantConductTest, OneLookATurnTellsNothing) {
  for (int i = 1; i < 100; ++i) {
    conduct_.Settle(At(1000 * i));
    EXPECT_EQ(conduct_.CheckAlive({}, At(1000 * i + 900)), "");
    conduct_.Excuse();
  }
}

TEST_F(TenantConductTest, HasStalledIfItComputesWithoutEndingAStep) {
  const auto compute = [this] {
    ++signs_.heartbeats;
    signs_.run_time += milliseconds(1);
  };
  EXPECT_EQ(Look(500), "");
  EXPECT_EQ(LookUntil(1500, compute), "");
  EXPECT_FALSE(conduct_.HasStalled());
  EXPECT_EQ(LookUntil(1501, compute), "");
  EXPECT_TRUE(conduct_.HasStalled());
}

TEST_F(TenantConductTest, NeedsOnlyAHeartbeatWhileItRests) {
  signs_.rests = true;
  EXPECT_EQ(Look(100), "");
  EXPECT_EQ(LookUntil(5000, [this] { ++signs_.heartbeats; }), "");
  EXPECT_FALSE(conduct_.HasStalled());
  EXPECT_EQ(LookUntil(6000, [] {}), "");
  EXPECT_THAT(Look(6001), HasSubstr("no heartbeat"));
}

ProcessSampler::Thread ThreadIn(char state, bool compute) {
  ProcessSampler::Thread thread;
  thread.state = state;
  thread.compute = compute;
  return thread;
}

TEST(ThreadStates, AreJudgedTogether) {
  EXPECT_TRUE(IsStill({ThreadIn('T', true), ThreadIn('T', false)}));
  EXPECT_FALSE(IsStill({ThreadIn('T', true), ThreadIn('R', false)}));
  EXPECT_TRUE(IsParked({ThreadIn('S', true), ThreadIn('R', false)}));
  EXPECT_FALSE(IsParked({ThreadIn('S', true), ThreadIn('R', true)}));
}

}  // namespace
}  // namespace cosched
