#include "experiments/hosts/tenant_conduct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

  const Topology topology_ = Topology::ThisMachine();
  TenantConduct conduct_{&topology_, kTimeout};
};

TEST_F(TenantConductTest, WantsAHeartbeatAndTimeOnACore) {
  EXPECT_EQ(
      conduct_.CheckAlive({.heartbeats = 1, .steps = 1, .run_time = milliseconds(1)}, At(900)), "");
  // The same time on a core, and then the same heartbeat.
  EXPECT_EQ(
      conduct_.CheckAlive({.heartbeats = 2, .steps = 1, .run_time = milliseconds(1)}, At(1900)),
      "");
  EXPECT_EQ(
      conduct_.CheckAlive({.heartbeats = 3, .steps = 1, .run_time = milliseconds(1)}, At(1901)),
      "hangs: none of its threads computed within 1000 ms");
  EXPECT_EQ(
      conduct_.CheckAlive({.heartbeats = 3, .steps = 1, .run_time = milliseconds(2)}, At(2902)),
      "gave no heartbeat within 1000 ms");
}

// As under a policy of turns, after which its threads wake up, and sleep again if they hang: what it
// did not show in some turns it has to show in the next.
TEST_F(TenantConductTest, TurnsDoNotHideAHang) {
  int64_t heartbeats = 0;
  Duration run_time{0};
  const auto turn = [&](int from, Duration going_on, Duration computing) {
    conduct_.Settle(At(from));
    run_time += going_on;
    const auto look = [&](int ms) {
      return conduct_.CheckAlive({.heartbeats = ++heartbeats, .run_time = run_time}, At(from + ms));
    };
    EXPECT_EQ(look(1), "");
    EXPECT_EQ(look(100), "");
    run_time += computing;
    const std::string wrong = look(500);
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
  EXPECT_EQ(
      conduct_.CheckAlive({.heartbeats = 1, .steps = 3, .run_time = milliseconds(1)}, At(500)), "");
  EXPECT_EQ(
      conduct_.CheckAlive({.heartbeats = 2, .steps = 3, .run_time = milliseconds(2)}, At(1500)),
      "");
  EXPECT_FALSE(conduct_.HasStalled());
  EXPECT_EQ(
      conduct_.CheckAlive({.heartbeats = 3, .steps = 3, .run_time = milliseconds(3)}, At(1501)),
      "");
  EXPECT_TRUE(conduct_.HasStalled());
}

TEST_F(TenantConductTest, NeedsOnlyAHeartbeatWhileItRests) {
  for (int64_t look = 1; look < 5; ++look) {
    const TenantConduct::Signs signs{.heartbeats = look, .rests = true};
    EXPECT_EQ(conduct_.CheckAlive(signs, At(static_cast<int>(900 * look))), "");
  }
  EXPECT_FALSE(conduct_.HasStalled());
  EXPECT_THAT(conduct_.CheckAlive({.heartbeats = 4, .rests = true}, At(4601)),
              HasSubstr("no heartbeat"));
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
