#include "experiments/hosts/grant_in_flight.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

using std::chrono::milliseconds;

constexpr Duration kDeadline = milliseconds(250);

TimePoint At(int ms) { return TimePoint(milliseconds(ms)); }

class GrantInFlightTest : public testing::Test {
 protected:
  void Begin(const CpuSet& cores, TimePoint now) {
    grant_.Begin(Place::Whole(cores, {1, cores.Count()}), now, kDeadline);
  }

  GrantInFlight grant_{Place::Whole({0, 1, 2}, {1, 3})};
};

TEST_F(GrantInFlightTest, TheFirstIsAppliedByTheStart) {
  EXPECT_TRUE(grant_.Applied());
  EXPECT_FALSE(grant_.Settled());
  EXPECT_EQ(grant_.Sequence(), 1);
  grant_.Settle();
  EXPECT_TRUE(grant_.Settled());
}

TEST_F(GrantInFlightTest, AnAnswerCountsOnceTheTenantHasBeenTold) {
  Begin(CpuSet({0}), At(0));
  grant_.Answer();
  grant_.Move();
  grant_.Answer();
  EXPECT_FALSE(grant_.Answered());
  grant_.Apply();
  EXPECT_FALSE(grant_.Answered());
  grant_.Answer();
  EXPECT_TRUE(grant_.Answered());
  EXPECT_FALSE(grant_.Settled());
  grant_.Settle();
  grant_.Answer();  // Said twice.
  EXPECT_TRUE(grant_.Settled());
}

TEST_F(GrantInFlightTest, CoresAreHeldUntilTheGrantHasSettled) {
  grant_.Settle();
  Begin(CpuSet({2, 3}), At(0));
  EXPECT_EQ(grant_.Held(), CpuSet({0, 1, 2, 3}));
  Begin(CpuSet({3}), At(1));
  EXPECT_EQ(grant_.Held(), CpuSet({0, 1, 2, 3}));
  grant_.Apply();
  grant_.Settle();
  EXPECT_EQ(grant_.Held(), CpuSet({3}));
  EXPECT_EQ(grant_.Sequence(), 3);
}

TEST_F(GrantInFlightTest, ASmallerShareIsARevocationToo) {
  const CpuSet node({0, 1});
  grant_.Settle();
  grant_.Begin({node, {1500}, {1, 2}}, At(0), kDeadline);
  grant_.Apply();
  grant_.Settle();
  EXPECT_EQ(grant_.HeldAmount(), CpuShare{1500});
  grant_.Begin({node, {1600}, {1, 2}}, At(0), kDeadline);
  EXPECT_FALSE(grant_.RevocationTime());
  grant_.Begin({node, {300}, {1, 1}}, At(10), kDeadline);
  EXPECT_EQ(grant_.RevocationTime(), At(260));
  EXPECT_EQ(grant_.HeldAmount(), CpuShare{1600});
  grant_.Apply();
  grant_.Settle();
  EXPECT_EQ(grant_.HeldAmount(), CpuShare{300});
}

TEST_F(GrantInFlightTest, ASecondRevocationDoesNotPutOffTheFirst) {
  grant_.Settle();
  Begin(CpuSet({0, 1}), At(0));
  grant_.Apply();
  Begin(CpuSet({0}), At(100));
  EXPECT_EQ(grant_.RevocationTime(), At(250));
  EXPECT_FALSE(grant_.RevocationIsDue(At(249)));
  EXPECT_TRUE(grant_.RevocationIsDue(At(250)));
  Begin(CpuSet({0, 1, 2}), At(200));  // The tenant may stay after all.
  EXPECT_FALSE(grant_.RevocationTime());
}

TEST_F(GrantInFlightTest, TheTimeToLeaveBeginsWhenTheTenantIsTold) {
  grant_.Settle();
  Begin({}, At(0));
  EXPECT_TRUE(grant_.Pauses());
  grant_.Move();
  grant_.DelayRevocation(At(100), kDeadline);
  EXPECT_EQ(grant_.RevocationTime(), At(350));
}

TEST_F(GrantInFlightTest, WhatCannotFollowIsABug) {
  EXPECT_DEATH(grant_.Move(), "after the tenant was told");
  EXPECT_DEATH(grant_.Apply(), "applied twice");
  Begin(CpuSet({0}), At(0));
  EXPECT_DEATH(grant_.Settle(), "not under way");
  grant_.Apply();
  EXPECT_DEATH(grant_.DelayRevocation(At(0), kDeadline), "gets more time");
}

TEST(ProcessStopTest, TellsHowLongItTookOnce) {
  ProcessStop stop;
  EXPECT_FALSE(stop.Wanted());
  EXPECT_FALSE(stop.Continue());
  EXPECT_TRUE(stop.Begin());
  EXPECT_FALSE(stop.Begin());
  EXPECT_TRUE(stop.Wanted());
  EXPECT_TRUE(stop.SeeStopped());
  EXPECT_FALSE(stop.SeeStopped());
  EXPECT_TRUE(stop.Continue());
  EXPECT_FALSE(stop.Wanted());
  EXPECT_TRUE(stop.Begin());
  EXPECT_TRUE(stop.SeeStopped());
}

TEST(ProcessStopTest, OthersMayLetItGoOnOnceAPause) {
  ProcessStop stop;
  stop.Begin();
  stop.SeeStopped();
  EXPECT_TRUE(stop.SeeRunning());
  EXPECT_FALSE(stop.SeeStopped());  // Again: the records have told it.
  EXPECT_FALSE(stop.SeeRunning());
  stop.Settle();  // The next pause.
  EXPECT_TRUE(stop.SeeRunning());
}

TEST(ProcessStopTest, WhatCannotFollowIsABug) {
  ProcessStop stop;
  EXPECT_DEATH(stop.SeeStopped(), "nobody stopped");
  EXPECT_DEATH(stop.SeeRunning(), "before it was seen stopped");
  stop.Begin();
  EXPECT_DEATH(stop.SeeRunning(), "before it was seen stopped");
}

}  // namespace
}  // namespace cosched
