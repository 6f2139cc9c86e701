// These events, exactly these allocations, for the policies that know how large jobs are and how
// fast they run: one case for each rule that a policy's head comment states.

#include <gtest/gtest.h>

#include "policies/job_size.h"
#include "policies/repartition.h"
#include "tests/policies/policy_machine.h"

namespace cosched {
namespace {

// --- easy-backfill

TEST(EasyBackfill, ALaterJobStartsIfItEndsBeforeTheReservation) {
  auto machine = MakeMachine(kFourCores, "easy-backfill");
  machine->Submit(SizedJob(1, Exactly(3), 30));  // 10 s on 3 cores.
  machine->host.progress[{1}] = 0;
  machine->Submit(SizedJob(2, Exactly(4), 40));
  machine->Submit(SizedJob(3, Exactly(1), 11));  // 11 s: it would delay job 2.
  machine->Submit(SizedJob(4, Exactly(1), 10));  // 10 s: it just would not.
  EXPECT_EQ(machine->Counts(), "1=3 2=wait 3=wait 4=1");
}

TEST(EasyBackfill, ProgressMovesTheReservation) {
  auto machine = MakeMachine(kFourCores, "easy-backfill");
  machine->Submit(SizedJob(1, Exactly(3), 30));
  machine->host.progress[{1}] = 0.5;  // Job 1 ends in 5 s.
  machine->Submit(SizedJob(2, Exactly(4), 40));
  machine->Submit(SizedJob(3, Exactly(1), 6));
  machine->Submit(SizedJob(4, Exactly(1), 5));
  EXPECT_EQ(machine->Counts(), "1=3 2=wait 3=wait 4=1");
}

TEST(EasyBackfill, ALongJobMayUseCoresThatTheReservationLeavesOver) {
  auto machine = MakeMachine(kFourCores, "easy-backfill");
  machine->Submit(SizedJob(1, Exactly(2), 20));
  machine->Submit(SizedJob(2, Exactly(3), 30));   // Starts when 1 ends, with one core to spare.
  machine->Submit(SizedJob(3, Exactly(1), 999));  // Takes the spare one,
  machine->Submit(SizedJob(4, Exactly(1), 999));  // so that this one would delay job 2.
  EXPECT_EQ(machine->Counts(), "1=2 2=wait 3=1 4=wait");
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=3 3=1 4=wait");
}

TEST(EasyBackfill, TheHeadStartsInOrderWhateverItsSize) {
  auto machine = MakeMachine(kFourCores, "easy-backfill");
  machine->Submit(SizedJob(1, Exactly(4), 4));
  machine->Submit(SizedJob(2, Exactly(2), 999));
  machine->Submit(SizedJob(3, Exactly(2), 1));
  machine->Submit(SizedJob(4, Exactly(1), 1));
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=2 3=2 4=wait");
}

TEST(EasyBackfill, PriorityOrdersTheQueue) {
  auto machine = MakeMachine(kFourCores, "easy-backfill", {{"order", "priority"}});
  machine->Submit(SizedJob(1, Exactly(4), 4));
  machine->Submit(SizedJob(2, Exactly(4), 4));
  Job urgent = SizedJob(3, Exactly(4), 999);
  urgent.priority = 1;
  machine->Submit(urgent);
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=wait 3=4");
}

// --- sjf

TEST(Sjf, TheShortestOfTheQueueStartsFirst) {
  auto machine = MakeMachine(kFourCores, "sjf");
  machine->Submit(SizedJob(1, Exactly(4), 1));
  machine->Submit(SizedJob(2, Exactly(4), 30));
  machine->Submit(SizedJob(3, Exactly(4), 20));
  machine->Submit(SizedJob(4, Exactly(4), 20));
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=wait 3=4 4=wait");
  machine->Finish(3);
  EXPECT_EQ(machine->Counts(), "2=wait 4=4");
}

TEST(Sjf, LengthIsTheTimeOnTheCoresAskedFor) {
  auto machine = MakeMachine(kFourCores, "sjf");
  machine->Submit(SizedJob(1, Exactly(4), 1));
  machine->Submit(SizedJob(2, Exactly(1), 8));   // 8 s on one core.
  machine->Submit(SizedJob(3, Exactly(4), 20));  // 5 s on four.
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=wait 3=4");
}

TEST(Sjf, ALongerOneThatFitsStartsAndNobodyIsPreempted) {
  auto machine = MakeMachine(kFourCores, "sjf");
  machine->Submit(SizedJob(1, Exactly(3), 999));
  machine->Submit(SizedJob(2, Exactly(2), 1));
  machine->Submit(SizedJob(3, Exactly(1), 50));
  EXPECT_EQ(machine->Counts(), "1=3 2=wait 3=1");
}

// --- srpt

TEST(Srpt, AShorterNewcomerPreemptsAndTheOtherResumesWhenItEnds) {
  auto machine = MakeMachine(kFourCores, "srpt");
  machine->Submit(SizedJob(1, Exactly(4), 100));
  machine->SettleAll();
  machine->Submit(SizedJob(2, Exactly(4), 40));  // 1 has 50 left, by its progress.
  EXPECT_EQ(machine->Counts(), "1=pause 2=4");
  machine->SettleAll();
  machine->Submit(SizedJob(3, Exactly(4), 60));
  EXPECT_EQ(machine->Counts(), "1=pause 2=4 3=wait");
  machine->Finish(2);
  EXPECT_EQ(machine->Counts(), "1=4 3=wait");
}

TEST(Srpt, AJobThatIsNearItsEndIsNotPreempted) {
  auto machine = MakeMachine(kFourCores, "srpt");
  machine->Submit(SizedJob(1, Exactly(4), 100));
  machine->host.progress[{1}] = 0.9;
  machine->Submit(SizedJob(2, Exactly(4), 40));
  EXPECT_EQ(machine->Counts(), "1=4 2=wait");
}

TEST(Srpt, WhatIsLeftOverGoesToTheNextMalleableJob) {
  auto machine = MakeMachine(kFourCores, "srpt");
  machine->Submit(SizedJob(1, Exactly(3), 3));
  machine->Submit(SizedJob(2, {2, 2, 4}, 100));  // One core is below its min.
  machine->Submit(SizedJob(3, {1, 4, 4}, 500));
  EXPECT_EQ(machine->Counts(), "1=3 2=wait 3=1");
}

TEST(Srpt, RigidJobsRunWholeOrNotAtAll) {
  auto machine = MakeMachine(kFourCores, "srpt");
  machine->Submit(SizedJob(1, {1, 4, 4}, 100, 1, Elasticity::kRigid));
  machine->SettleAll();
  machine->Submit(SizedJob(2, Exactly(3), 3, 1, Elasticity::kRigid));
  EXPECT_EQ(machine->Counts(), "1=pause 2=3");
}

TEST(Srpt, AMoldableJobResumesWithTheCoresOfItsStart) {
  auto machine = MakeMachine(kFourCores, "srpt");
  machine->Submit(SizedJob(1, Exactly(1), 1));
  machine->Submit(SizedJob(2, {1, 4, 4}, 400, 1, Elasticity::kMoldable));
  EXPECT_EQ(machine->Counts(), "1=1 2=3");
  machine->SettleAll();
  machine->Submit(SizedJob(3, Exactly(4), 2));  // 0.5 s, as what 1 has left.
  EXPECT_EQ(machine->Counts(), "1=1 2=3 3=wait");
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=pause 3=4");
  machine->SettleAll();
  machine->Finish(3);
  EXPECT_EQ(machine->Counts(), "2=3");
}

// --- hesrpt

TEST(Hesrpt, SharesFollowTheFormula) {
  // p = 1/2: shares (i^2 - (i - 1)^2) / m^2 from the largest to the smallest.
  auto machine = MakeMachine(kSixteenCores, "hesrpt", {{"p", "0.5"}});
  machine->Submit(SizedJob(1, UpTo(16, 16), 100, 0.5));
  EXPECT_EQ(machine->Counts(), "1=16");
  machine->host.progress[{1}] = 0;
  machine->SettleAll();
  machine->Submit(SizedJob(2, UpTo(16, 16), 50, 0.5));
  EXPECT_EQ(machine->Counts(), "1=4 2=12");
  machine->SettleAll();
  machine->host.progress[{2}] = 0;
  machine->Submit(SizedJob(3, UpTo(16, 16), 200, 0.5));  // 16/9, 48/9, 80/9.
  EXPECT_EQ(machine->Counts(), "1=5 2=9 3=2");
  machine->SettleAll();
  machine->Finish(2);
  EXPECT_EQ(machine->Counts(), "1=12 3=4");
}

TEST(Hesrpt, TheExponentIsFittedToTheCurves) {
  auto fitted = MakeMachine(kSixteenCores, "hesrpt");
  auto told = MakeMachine(kSixteenCores, "hesrpt", {{"p", "0.8"}});
  for (ScheduledMachine* machine : {fitted.get(), told.get()}) {
    for (int id = 1; id <= 4; ++id) machine->Submit(SizedJob(id, UpTo(16, 16), 100 * id, 0.8));
  }
  EXPECT_EQ(fitted->Counts(), told->Counts());
  EXPECT_NE(fitted->Counts(), "1=4 2=4 3=4 4=4");
}

TEST(Hesrpt, FittedExponentIsTheMeanOfTheJobs) {
  std::vector<JobView> views(3);
  for (JobView& view : views) view.speed = PowerCurve(7, 0.9, 16);
  views[2].speed = PowerCurve(3, 0.3, 16);
  EXPECT_NEAR(FitSpeedExponent({&views[0], &views[1], &views[2]}, 16), 0.7, 1e-9);
  views[2].speed = PowerCurve(1, 1.2, 16);  // The formula needs p < 1.
  EXPECT_EQ(FitSpeedExponent({&views[2]}, 16), 0.99);
  EXPECT_EQ(FitSpeedExponent({&views[2]}, 1), 0.01);
}

TEST(Hesrpt, SlowdownWeighsBySize) {
  // p = 1/2, sizes 100 and 25: z = 1/100, 1/100 + 1/25; shares (1/5)^2 and 1 - (1/5)^2.
  auto machine = MakeMachine(kSixteenCores, "hesrpt", {{"p", "0.5"}, {"minimize", "slowdown"}});
  machine->Submit(SizedJob(1, UpTo(16, 16), 100, 0.5));
  machine->SettleAll();
  machine->Submit(SizedJob(2, UpTo(16, 16), 25, 0.5));
  EXPECT_EQ(machine->Counts(), "1=1 2=15");
}

TEST(Hesrpt, AJobThatDoesNotGetItsMinIsPausedAndACappedOnesShareGoesToTheOthers) {
  auto machine = MakeMachine(kSixteenCores, "hesrpt", {{"p", "0.5"}});
  machine->Submit(SizedJob(1, {8, 16, 16}, 1000, 0.5));
  machine->SettleAll();
  machine->Submit(SizedJob(2, {1, 2, 12}, 10, 0.5));  // 12 of 16, and 4 are below 8.
  EXPECT_EQ(machine->Counts(), "1=pause 2=12");
  machine->SettleAll();
  machine->Submit(SizedJob(3, {1, 2, 3}, 1, 0.5));  // Job 3 takes 3; 13/4 and 39/4 are 1's and 2's.
  EXPECT_EQ(machine->Counts(), "1=pause 2=12 3=3");
}

TEST(Hesrpt, MoreJobsThanCoresRunTheSmallest) {
  auto machine = MakeMachine(kFourCores, "hesrpt", {{"p", "0.5"}});
  for (int id = 1; id <= 9; ++id) machine->Submit(SizedJob(id, UpTo(4, 4), 10 * id, 0.5));
  // 81 parts: 17, 15, 13, 11 of them times 4 are 0.84, 0.74, 0.64, 0.54 cores.
  EXPECT_EQ(machine->Counts().substr(0, 15), "1=1 2=1 3=1 4=1");
}

TEST(Hesrpt, JobsOfFixedThreadsGetNoMoreCoresThanThreads) {
  auto machine = MakeMachine(kSixteenCores, "hesrpt", {{"p", "0.5"}});
  Job rigid = SizedJob(1, UpTo(4, 16), 10, 0.5, Elasticity::kRigid);
  machine->Submit(rigid);
  machine->Submit(SizedJob(2, UpTo(16, 16), 100, 0.5));
  EXPECT_EQ(machine->Counts(), "1=4 2=12");
  machine->SettleAll();
  machine->Submit(SizedJob(3, UpTo(16, 16), 1000, 0.5, Elasticity::kMoldable));
  EXPECT_EQ(machine->Counts(), "1=4 2=9 3=3");
  machine->SettleAll();
  machine->Finish(2);
  EXPECT_EQ(machine->Counts(), "1=4 3=3");
  EXPECT_EQ(UsefulCores(*machine->arbiter.View().Find({3})), 3);
}

// --- marginal-speedup

TEST(MarginalSpeedup, JobsOfFixedThreadsGetNoMoreCoresThanThreads) {
  auto machine = MakeMachine(kSixteenCores, "marginal-speedup");
  Job rigid = SizedJob(1, UpTo(2, 16), 10, 0.9, Elasticity::kRigid);
  rigid.threads = Split{2, 5};
  machine->Submit(rigid);
  EXPECT_EQ(machine->Counts(), "1=6");
}

TEST(MarginalSpeedup, EachCoreGoesWhereItGainsMost) {
  auto machine = MakeMachine(kSixteenCores, "marginal-speedup");
  Job flat = SizedJob(1, UpTo(16, 16), 10);
  flat.speed = std::make_shared<SpeedCurve>(std::vector<double>{10, 15, 17, 18});
  Job steep = SizedJob(2, UpTo(16, 16), 10);
  steep.speed = std::make_shared<SpeedCurve>(std::vector<double>{1, 1.9, 2.6, 2.7, 2.75});
  machine->Submit(flat);
  EXPECT_EQ(machine->Counts(), "1=4") << "cores that gain nothing stay idle";
  machine->SettleAll();
  machine->Submit(steep);
  EXPECT_EQ(machine->Counts(), "1=4 2=5");
}

TEST(MarginalSpeedup, GainsAreRelativeToTheJobsOwnSpeedOnOneCore) {
  auto machine = MakeMachine(kFourCores, "marginal-speedup");
  Job fast = SizedJob(1, UpTo(4, 4), 10);  // Gains of 0.2, 0.1.
  fast.speed = std::make_shared<SpeedCurve>(std::vector<double>{100, 120, 130});
  Job slow = SizedJob(2, UpTo(4, 4), 10);  // Gains of 0.9, 0.7.
  slow.speed = std::make_shared<SpeedCurve>(std::vector<double>{1, 1.9, 2.6});
  machine->Submit(fast);
  machine->SettleAll();
  machine->Submit(slow);
  EXPECT_EQ(machine->Counts(), "1=1 2=3");
}

TEST(MarginalSpeedup, MinAndMaxBoundIt) {
  auto machine = MakeMachine(kSixteenCores, "marginal-speedup");
  machine->Submit(SizedJob(1, {6, 6, 16}, 10, 0.1));
  machine->Submit(SizedJob(2, {1, 2, 3}, 10, 0.9));
  machine->Submit(SizedJob(3, UpTo(8, 8), 10, 0.5));
  EXPECT_EQ(machine->Counts(), "1=6 2=3 3=7");
}

}  // namespace
}  // namespace cosched
