// These events, exactly these allocations: one case for each rule that a policy's head comment
// states.

#include <gtest/gtest.h>

#include "tests/policies/policy_machine.h"

namespace cosched {
namespace {

// --- no-control

TEST(NoControl, MalleableJobsGetWhatTheyAskForOnTheLeastLoadedCores) {
  auto machine = MakeMachine(kFourCores, "no-control");
  machine->Submit(1, UpTo(3, 4));
  machine->Submit(2, UpTo(2, 4));
  machine->Submit(3, UpTo(4, 4));
  EXPECT_EQ(machine->State(), "1=0-2 2=0,3 3=0-3");
  EXPECT_EQ(machine->host.TakeLog(), "start 1 0-2 1x3; start 2 0,3 1x2; start 3 0-3 1x4");
}

TEST(NoControl, RigidAndMoldableJobsRunAnywhereWithTheThreadsTheyAskFor) {
  auto machine = MakeMachine(kFourCores, "no-control");
  machine->Submit(MakeJob(1, Exactly(2), Elasticity::kRigid));
  machine->Submit(MakeJob(2, {1, 8, 8}, Elasticity::kMoldable));
  EXPECT_EQ(machine->host.TakeLog(), "start 1 0-3 1x2; start 2 0-3 1x8");
}

TEST(NoControl, RequestBeyondTheMachineIsTheMachine) {
  auto machine = MakeMachine(kFourCores, "no-control");
  machine->Submit(1, UpTo(9, 9));
  EXPECT_EQ(machine->State(), "1=0-3");
}

TEST(NoControl, NothingChangesWhenAJobEnds) {
  auto machine = MakeMachine(kFourCores, "no-control");
  machine->Submit(1, UpTo(2, 4));
  machine->Submit(2, UpTo(4, 4));
  machine->SettleAll();
  machine->host.TakeLog();
  machine->Finish(2);
  EXPECT_EQ(machine->State(), "1=0-1");
  EXPECT_EQ(machine->host.TakeLog(), "");
}

// --- static-partition

TEST(StaticPartition, JobsWaitForAFreeSliceAndKeepIt) {
  auto machine = MakeMachine(kFourCores, "static-partition");
  machine->Submit(1, UpTo(4, 4));
  machine->Submit(2, UpTo(1, 4));
  machine->Submit(3, UpTo(2, 4));
  EXPECT_EQ(machine->State(), "1=0-1 2=2-3 3=wait");
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->State(), "2=2-3 3=0-1");
}

TEST(StaticPartition, SliceIsCutToTheJobsMaxAndStaysTaken) {
  auto machine = MakeMachine(kFourCores, "static-partition");
  machine->Submit(1, Exactly(1));
  machine->Submit(2, Exactly(1));
  machine->Submit(3, Exactly(1));
  EXPECT_EQ(machine->State(), "1=0 2=2 3=wait");
}

TEST(StaticPartition, SlicesAreEqualAndTheRestIsIdle) {
  auto machine = MakeMachine(kSixteenCores, "static-partition", {{"slices", "3"}});
  for (int id = 1; id <= 4; ++id) machine->Submit(id, UpTo(16, 16));
  EXPECT_EQ(machine->Counts(), "1=5 2=5 3=5 4=wait");
}

TEST(StaticPartition, MoreSlicesThanCoresAreOneCoreEach) {
  auto machine = MakeMachine(kFourCores, "static-partition", {{"slices", "9"}});
  for (int id = 1; id <= 5; ++id) machine->Submit(id, UpTo(4, 4));
  EXPECT_EQ(machine->Counts(), "1=1 2=1 3=1 4=1 5=wait");
}

TEST(StaticPartition, JobThatNeedsMoreThanASliceIsRejectedWithTheReason) {
  auto machine = MakeMachine(kFourCores, "static-partition");
  machine->Submit(1, Exactly(3));
  EXPECT_EQ(machine->observer.Take("rejected"),
            "rejected 1: needs at least 3 cores, a slice of static-partition has 2");
  EXPECT_EQ(machine->arbiter.Waiting(), 0);
}

// --- strict

TEST(Strict, JobWaitsUntilAllItAsksForIsFree) {
  auto machine = MakeMachine(kFourCores, "strict");
  machine->Submit(1, UpTo(3, 4));
  machine->Submit(2, UpTo(2, 4));
  EXPECT_EQ(machine->State(), "1=0-2 2=wait");
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=2");
}

TEST(Strict, SmallerJobBehindOneThatDoesNotFitStarts) {
  auto machine = MakeMachine(kFourCores, "strict");
  machine->Submit(1, UpTo(2, 4));
  machine->Submit(2, UpTo(3, 4));
  machine->Submit(3, UpTo(2, 4));
  EXPECT_EQ(machine->Counts(), "1=2 2=wait 3=2");
}

TEST(Strict, NobodyGrowsBeyondTheRequest) {
  auto machine = MakeMachine(kFourCores, "strict");
  machine->Submit(1, UpTo(2, 4));
  machine->Submit(2, UpTo(2, 4));
  machine->SettleAll();
  machine->Finish(2);
  EXPECT_EQ(machine->Counts(), "1=2");
}

TEST(Strict, RequestBeyondTheMachineWaitsForAllOfIt) {
  auto machine = MakeMachine(kFourCores, "strict");
  machine->Submit(1, UpTo(1, 1));
  machine->Submit(2, UpTo(8, 8));
  EXPECT_EQ(machine->Counts(), "1=1 2=wait");
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=4");
}

TEST(Strict, PriorityOrdersTheQueueAndPreemptsNobody) {
  auto machine = MakeMachine(kFourCores, "strict", {{"order", "priority"}});
  machine->Submit(1, Exactly(4));
  machine->Submit(MakeJob(2, Exactly(4), Elasticity::kMalleable, 1));
  machine->Submit(MakeJob(3, Exactly(4), Elasticity::kMalleable, 7));
  machine->Submit(MakeJob(4, Exactly(4), Elasticity::kMalleable, 7));
  EXPECT_EQ(machine->Counts(), "1=4 2=wait 3=wait 4=wait");
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=wait 3=4 4=wait");
  machine->Finish(3);
  EXPECT_EQ(machine->Counts(), "2=wait 4=4");
}

TEST(Strict, FcfsIgnoresPriority) {
  auto machine = MakeMachine(kFourCores, "strict");
  machine->Submit(1, Exactly(4));
  machine->Submit(2, Exactly(4));
  machine->Submit(MakeJob(3, Exactly(4), Elasticity::kMalleable, 7));
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=4 3=wait");
}

// --- always-attend

TEST(AlwaysAttend, JobStartsWithWhatIsFree) {
  auto machine = MakeMachine(kSixteenCores, "always-attend");
  machine->Submit(1, UpTo(10, 16));
  machine->Submit(2, UpTo(10, 16));
  machine->Submit(3, UpTo(10, 16));
  EXPECT_EQ(machine->State(), "1=0-9 2=10-15 3=wait");
}

TEST(AlwaysAttend, JobDoesNotStartBelowItsMinButALaterOneMay) {
  auto machine = MakeMachine(kFourCores, "always-attend");
  machine->Submit(1, UpTo(3, 4));
  machine->Submit(2, {2, 4, 4});
  machine->Submit(3, UpTo(4, 4));
  EXPECT_EQ(machine->Counts(), "1=3 2=wait 3=1");
}

TEST(AlwaysAttend, FreedCoresGrowTheOldestToItsRequestBeforeTheQueue) {
  auto machine = MakeMachine(kSixteenCores, "always-attend");
  machine->Submit(1, UpTo(10, 16));
  machine->Submit(2, UpTo(10, 16));  // 6
  machine->Submit(3, UpTo(10, 16));
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=10 3=6");
  machine->SettleAll();
  machine->Submit(4, UpTo(4, 16));
  machine->Finish(2);
  EXPECT_EQ(machine->Counts(), "3=10 4=4");
}

TEST(AlwaysAttend, RigidJobGrowsInCoresAndKeepsItsThreads) {
  auto machine = MakeMachine(kFourCores, "always-attend");
  machine->Submit(MakeJob(1, UpTo(3, 4), Elasticity::kRigid));
  machine->Submit(MakeJob(2, UpTo(3, 4), Elasticity::kRigid));
  machine->Submit(MakeJob(3, UpTo(1, 1), Elasticity::kMoldable));
  EXPECT_EQ(machine->host.TakeLog(), "start 1 0-2 1x3; start 2 3 1x3");
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->host.TakeLog(), "grant 2 0-1,3 1x3; start 3 2 1x1");
}

TEST(AlwaysAttend, MoldableJobKeepsTheThreadsOfItsStart) {
  auto machine = MakeMachine(kFourCores, "always-attend");
  machine->Submit(1, UpTo(3, 4));
  machine->Submit(MakeJob(2, UpTo(3, 4), Elasticity::kMoldable));
  machine->SettleAll();
  machine->host.TakeLog();
  machine->Finish(1);
  EXPECT_EQ(machine->host.TakeLog(), "grant 2 0-1,3 1x1");
}

TEST(AlwaysAttend, CoresOfAFailedJobAreFreedToo) {
  auto machine = MakeMachine(kFourCores, "always-attend");
  machine->Submit(1, UpTo(4, 4));
  machine->Submit(2, UpTo(4, 4));
  machine->Fail(1, "died");
  EXPECT_EQ(machine->Counts(), "2=4");
}

// --- max-prop

TEST(MaxProp, LoneJobGetsUpToItsMax) {
  auto machine = MakeMachine(kSixteenCores, "max-prop");
  machine->Submit(1, UpTo(4, 12));  // F = 4 / 16.
  EXPECT_EQ(machine->Counts(), "1=12");
}

TEST(MaxProp, FreeCoresAreSharedInProportionToTheRequests) {
  auto machine = MakeMachine(kSixteenCores, "max-prop");
  machine->Submit(1, Exactly(16));
  machine->Submit(2, UpTo(8, 16));
  machine->Submit(3, UpTo(8, 16));
  machine->Submit(4, UpTo(16, 16));
  machine->Finish(1);  // F = 32 / 16: half of each request.
  EXPECT_EQ(machine->Counts(), "2=4 3=4 4=8");
}

TEST(MaxProp, ShareIsTruncatedAndAtLeastTheMin) {
  auto machine = MakeMachine(kFourCores, "max-prop");
  machine->Submit(1, Exactly(4));
  for (int id = 2; id <= 7; ++id) machine->Submit(id, UpTo(4, 4));
  machine->Finish(1);  // F = 24 / 4: int(4 / 6) = 0, so each has its min as long as cores last.
  EXPECT_EQ(machine->Counts(), "2=1 3=1 4=1 5=1 6=wait 7=wait");
}

TEST(MaxProp, FreedCoresAreAddedInEqualSharesToTheRunningFirst) {
  auto machine = MakeMachine(kSixteenCores, "max-prop");
  machine->Submit(1, Exactly(16));
  machine->Submit(2, UpTo(7, 16));
  machine->Submit(3, UpTo(7, 16));
  machine->Submit(4, UpTo(7, 16));
  machine->Finish(1);  // F = 21 / 16: int(5.33) each, 1 core is left.
  EXPECT_EQ(machine->Counts(), "2=5 3=5 4=5");
  machine->SettleAll();
  machine->Submit(5, UpTo(2, 2));
  EXPECT_EQ(machine->Counts(), "2=5 3=5 4=5 5=1");
  machine->SettleAll();
  machine->Submit(6, UpTo(4, 4));
  machine->Finish(2);  // int(5 / 3) = 1 each: 3=6 4=6 5=2; 2 are left for job 6.
  EXPECT_EQ(machine->Counts(), "3=6 4=6 5=2 6=2");
}

TEST(MaxProp, ProportionIsOfTheFreeCoresNotOfTheMachine) {
  auto machine = MakeMachine(kSixteenCores, "max-prop");
  machine->Submit(1, Exactly(12));
  machine->Submit(2, Exactly(4));
  machine->Submit(3, UpTo(8, 16));
  machine->Submit(4, UpTo(8, 16));
  machine->Finish(2);  // F = 16 / 4: a quarter of each request.
  EXPECT_EQ(machine->Counts(), "1=12 3=2 4=2");
}

TEST(MaxProp, GrowthStopsAtTheMax) {
  auto machine = MakeMachine(kFourCores, "max-prop");
  machine->Submit(1, UpTo(2, 2));
  machine->Submit(2, UpTo(2, 2));
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=2");
}

TEST(MaxProp, PrioritySumsOverTheHighestWaitingClassOnly) {
  auto machine = MakeMachine(kSixteenCores, "max-prop", {{"order", "priority"}});
  machine->Submit(1, Exactly(16));
  machine->Submit(MakeJob(2, UpTo(8, 16), Elasticity::kMalleable, 0));
  machine->Submit(MakeJob(3, UpTo(8, 16), Elasticity::kMalleable, 4));
  machine->Submit(MakeJob(4, UpTo(16, 16), Elasticity::kMalleable, 4));
  machine->Finish(
      1);  // F = 24 / 16: int(5.33) and int(10.67); what is left goes to the class below.
  EXPECT_EQ(machine->Counts(), "2=1 3=5 4=10");
}

TEST(MaxProp, RigidJobsGrowInCoresToo) {
  auto machine = MakeMachine(kFourCores, "max-prop");
  machine->Submit(MakeJob(1, {2, 2, 2}, Elasticity::kRigid));
  machine->Submit(MakeJob(2, {2, 2, 4}, Elasticity::kRigid));
  machine->SettleAll();
  machine->host.TakeLog();
  machine->Finish(1);
  EXPECT_EQ(machine->host.TakeLog(), "grant 2 0-3 1x2");
}

// --- equal-share

TEST(EqualShare, ArrivalShrinksTheRunningAndEndGrowsThem) {
  auto machine = MakeMachine(kSixteenCores, "equal-share");
  machine->Submit(1, UpTo(8, 16));
  EXPECT_EQ(machine->Counts(), "1=16");
  machine->SettleAll();
  machine->Submit(2, UpTo(8, 16));
  machine->SettleAll();
  machine->Submit(3, UpTo(8, 16));
  machine->SettleAll();
  EXPECT_EQ(machine->Counts(), "1=6 2=5 3=5");
  machine->Finish(2);
  EXPECT_EQ(machine->Counts(), "1=8 3=8");
}

TEST(EqualShare, MinAndMaxBoundTheShareAndOthersTakeTheRest) {
  auto machine = MakeMachine(kSixteenCores, "equal-share");
  machine->Submit(1, {1, 2, 2});
  machine->Submit(2, {9, 9, 16});
  machine->Submit(3, UpTo(8, 16));
  EXPECT_EQ(machine->Counts(), "1=2 2=9 3=5");
}

TEST(EqualShare, JobWaitsWhenNotEverybodyWouldHaveItsMin) {
  auto machine = MakeMachine(kFourCores, "equal-share");
  machine->Submit(1, {2, 2, 4});
  machine->Submit(2, {2, 2, 4});
  machine->Submit(3, {2, 2, 4});
  machine->Submit(4, {1, 1, 4});
  EXPECT_EQ(machine->Counts(), "1=2 2=2 3=wait 4=wait");
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=2 3=2 4=wait");
}

TEST(EqualShare, NobodyOvertakesAJobThatDoesNotFitYet) {
  auto machine = MakeMachine(kFourCores, "equal-share");
  machine->Submit(1, {3, 3, 4});
  machine->Submit(2, {2, 2, 4});
  machine->Submit(3, {1, 1, 4});
  EXPECT_EQ(machine->Counts(), "1=4 2=wait 3=wait");
}

TEST(EqualShare, NewcomerStartsOnlyWhenTheOldHaveLeft) {
  auto machine = MakeMachine(kFourCores, "equal-share");
  machine->Submit(1, UpTo(4, 4));
  machine->SettleAll();
  machine->host.TakeLog();
  machine->Submit(2, UpTo(4, 4));
  EXPECT_EQ(machine->host.TakeLog(), "grant 1 0-1 1x2");
  machine->Settle(1);
  EXPECT_EQ(machine->host.TakeLog(), "start 2 2-3 1x2");
}

TEST(EqualShare, RigidJobLosesCoresAndKeepsItsThreads) {
  auto machine = MakeMachine(kFourCores, "equal-share");
  machine->Submit(MakeJob(1, UpTo(4, 4), Elasticity::kRigid));
  machine->SettleAll();
  machine->host.TakeLog();
  machine->Submit(2, UpTo(4, 4));
  EXPECT_EQ(machine->host.TakeLog(), "grant 1 0-1 1x4");
}

}  // namespace
}  // namespace cosched
