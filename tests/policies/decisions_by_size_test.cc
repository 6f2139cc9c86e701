// These events, exactly these allocations, for the policies that know how large jobs are and how
// fast they run: one case for each rule that a policy's head comment states.

#include <gtest/gtest.h>

#include "policies/job_size.h"
#include "policies/repartition.h"
#include "tests/policies/policy_world.h"

namespace cosched {
namespace {

// --- easy-backfill

TEST(EasyBackfill, ALaterJobStartsIfItEndsBeforeTheReservation) {
  auto world = MakeWorld(kFourCores, "easy-backfill");
  world->Submit(SizedJob(1, Exactly(3), 30));  // 10 s on 3 cores.
  world->host.progress[{1}] = 0;
  world->Submit(SizedJob(2, Exactly(4), 40));
  world->Submit(SizedJob(3, Exactly(1), 11));  // 11 s: it would delay job 2.
  world->Submit(SizedJob(4, Exactly(1), 10));  // 10 s: it just would not.
  EXPECT_EQ(world->Counts(), "1=3 2=wait 3=wait 4=1");
}

TEST(EasyBackfill, ProgressMovesTheReservation) {
  auto world = MakeWorld(kFourCores, "easy-backfill");
  world->Submit(SizedJob(1, Exactly(3), 30));
  world->host.progress[{1}] = 0.5;  // Job 1 ends in 5 s.
  world->Submit(SizedJob(2, Exactly(4), 40));
  world->Submit(SizedJob(3, Exactly(1), 6));
  world->Submit(SizedJob(4, Exactly(1), 5));
  EXPECT_EQ(world->Counts(), "1=3 2=wait 3=wait 4=1");
}

TEST(EasyBackfill, ALongJobMayUseCoresThatTheReservationLeavesOver) {
  auto world = MakeWorld(kFourCores, "easy-backfill");
  world->Submit(SizedJob(1, Exactly(2), 20));
  world->Submit(SizedJob(2, Exactly(3), 30));   // Starts when 1 ends, with one core to spare.
  world->Submit(SizedJob(3, Exactly(1), 999));  // Takes the spare one,
  world->Submit(SizedJob(4, Exactly(1), 999));  // so that this one would delay job 2.
  EXPECT_EQ(world->Counts(), "1=2 2=wait 3=1 4=wait");
  world->SettleAll();
  world->Finish(1);
  EXPECT_EQ(world->Counts(), "2=3 3=1 4=wait");
}

TEST(EasyBackfill, TheHeadStartsInOrderWhateverItsSize) {
  auto world = MakeWorld(kFourCores, "easy-backfill");
  world->Submit(SizedJob(1, Exactly(4), 4));
  world->Submit(SizedJob(2, Exactly(2), 999));
  world->Submit(SizedJob(3, Exactly(2), 1));
  world->Submit(SizedJob(4, Exactly(1), 1));
  world->Finish(1);
  EXPECT_EQ(world->Counts(), "2=2 3=2 4=wait");
}

TEST(EasyBackfill, PriorityOrdersTheQueue) {
  auto world = MakeWorld(kFourCores, "easy-backfill", {{"order", "priority"}});
  world->Submit(SizedJob(1, Exactly(4), 4));
  world->Submit(SizedJob(2, Exactly(4), 4));
  Job urgent = SizedJob(3, Exactly(4), 999);
  urgent.priority = 1;
  world->Submit(urgent);
  world->Finish(1);
  EXPECT_EQ(world->Counts(), "2=wait 3=4");
}

// --- sjf

TEST(Sjf, TheShortestOfTheQueueStartsFirst) {
  auto world = MakeWorld(kFourCores, "sjf");
  world->Submit(SizedJob(1, Exactly(4), 1));
  world->Submit(SizedJob(2, Exactly(4), 30));
  world->Submit(SizedJob(3, Exactly(4), 20));
  world->Submit(SizedJob(4, Exactly(4), 20));
  world->Finish(1);
  EXPECT_EQ(world->Counts(), "2=wait 3=4 4=wait");
  world->Finish(3);
  EXPECT_EQ(world->Counts(), "2=wait 4=4");
}

TEST(Sjf, LengthIsTheTimeOnTheCoresAskedFor) {
  auto world = MakeWorld(kFourCores, "sjf");
  world->Submit(SizedJob(1, Exactly(4), 1));
  world->Submit(SizedJob(2, Exactly(1), 8));   // 8 s on one core.
  world->Submit(SizedJob(3, Exactly(4), 20));  // 5 s on four.
  world->Finish(1);
  EXPECT_EQ(world->Counts(), "2=wait 3=4");
}

TEST(Sjf, ALongerOneThatFitsStartsAndNobodyIsPreempted) {
  auto world = MakeWorld(kFourCores, "sjf");
  world->Submit(SizedJob(1, Exactly(3), 999));
  world->Submit(SizedJob(2, Exactly(2), 1));
  world->Submit(SizedJob(3, Exactly(1), 50));
  EXPECT_EQ(world->Counts(), "1=3 2=wait 3=1");
}

// --- srpt

TEST(Srpt, AShorterNewcomerPreemptsAndTheOtherResumesWhenItEnds) {
  auto world = MakeWorld(kFourCores, "srpt");
  world->Submit(SizedJob(1, Exactly(4), 100));
  world->SettleAll();
  world->Submit(SizedJob(2, Exactly(4), 40));  // 1 has 50 left, by its progress.
  EXPECT_EQ(world->Counts(), "1=pause 2=4");
  world->SettleAll();
  world->Submit(SizedJob(3, Exactly(4), 60));
  EXPECT_EQ(world->Counts(), "1=pause 2=4 3=wait");
  world->Finish(2);
  EXPECT_EQ(world->Counts(), "1=4 3=wait");
}

TEST(Srpt, AJobThatIsNearItsEndIsNotPreempted) {
  auto world = MakeWorld(kFourCores, "srpt");
  world->Submit(SizedJob(1, Exactly(4), 100));
  world->host.progress[{1}] = 0.9;
  world->Submit(SizedJob(2, Exactly(4), 40));
  EXPECT_EQ(world->Counts(), "1=4 2=wait");
}

TEST(Srpt, WhatIsLeftOverGoesToTheNextMalleableJob) {
  auto world = MakeWorld(kFourCores, "srpt");
  world->Submit(SizedJob(1, Exactly(3), 3));
  world->Submit(SizedJob(2, {2, 2, 4}, 100));  // One core is below its min.
  world->Submit(SizedJob(3, {1, 4, 4}, 500));
  EXPECT_EQ(world->Counts(), "1=3 2=wait 3=1");
}

TEST(Srpt, RigidJobsRunWholeOrNotAtAll) {
  auto world = MakeWorld(kFourCores, "srpt");
  world->Submit(SizedJob(1, {1, 4, 4}, 100, 1, Elasticity::kRigid));
  world->SettleAll();
  world->Submit(SizedJob(2, Exactly(3), 3, 1, Elasticity::kRigid));
  EXPECT_EQ(world->Counts(), "1=pause 2=3");
}

TEST(Srpt, AMoldableJobResumesWithTheCoresOfItsStart) {
  auto world = MakeWorld(kFourCores, "srpt");
  world->Submit(SizedJob(1, Exactly(1), 1));
  world->Submit(SizedJob(2, {1, 4, 4}, 400, 1, Elasticity::kMoldable));
  EXPECT_EQ(world->Counts(), "1=1 2=3");
  world->SettleAll();
  world->Submit(SizedJob(3, Exactly(4), 2));  // 0.5 s, as what 1 has left.
  EXPECT_EQ(world->Counts(), "1=1 2=3 3=wait");
  world->Finish(1);
  EXPECT_EQ(world->Counts(), "2=pause 3=4");
  world->SettleAll();
  world->Finish(3);
  EXPECT_EQ(world->Counts(), "2=3");
}

// --- hesrpt

TEST(Hesrpt, SharesFollowTheFormula) {
  // p = 1/2: shares (i^2 - (i - 1)^2) / m^2 from the largest to the smallest.
  auto world = MakeWorld(kSixteenCores, "hesrpt", {{"p", "0.5"}});
  world->Submit(SizedJob(1, UpTo(16, 16), 100, 0.5));
  EXPECT_EQ(world->Counts(), "1=16");
  world->host.progress[{1}] = 0;
  world->SettleAll();
  world->Submit(SizedJob(2, UpTo(16, 16), 50, 0.5));
  EXPECT_EQ(world->Counts(), "1=4 2=12");
  world->SettleAll();
  world->host.progress[{2}] = 0;
  world->Submit(SizedJob(3, UpTo(16, 16), 200, 0.5));  // 16/9, 48/9, 80/9.
  EXPECT_EQ(world->Counts(), "1=5 2=9 3=2");
  world->SettleAll();
  world->Finish(2);
  EXPECT_EQ(world->Counts(), "1=12 3=4");
}

TEST(Hesrpt, TheExponentIsFittedToTheCurves) {
  auto fitted = MakeWorld(kSixteenCores, "hesrpt");
  auto told = MakeWorld(kSixteenCores, "hesrpt", {{"p", "0.8"}});
  for (World* world : {fitted.get(), told.get()}) {
    for (int id = 1; id <= 4; ++id) world->Submit(SizedJob(id, UpTo(16, 16), 100 * id, 0.8));
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
  auto world = MakeWorld(kSixteenCores, "hesrpt", {{"p", "0.5"}, {"minimize", "slowdown"}});
  world->Submit(SizedJob(1, UpTo(16, 16), 100, 0.5));
  world->SettleAll();
  world->Submit(SizedJob(2, UpTo(16, 16), 25, 0.5));
  EXPECT_EQ(world->Counts(), "1=1 2=15");
}

TEST(Hesrpt, AJobThatDoesNotGetItsMinIsPausedAndACappedOnesShareGoesToTheOthers) {
  auto world = MakeWorld(kSixteenCores, "hesrpt", {{"p", "0.5"}});
  world->Submit(SizedJob(1, {8, 16, 16}, 1000, 0.5));
  world->SettleAll();
  world->Submit(SizedJob(2, {1, 2, 12}, 10, 0.5));  // 12 of 16, and 4 are below 8.
  EXPECT_EQ(world->Counts(), "1=pause 2=12");
  world->SettleAll();
  world->Submit(SizedJob(3, {1, 2, 3}, 1, 0.5));  // Job 3 takes 3; 13/4 and 39/4 are 1's and 2's.
  EXPECT_EQ(world->Counts(), "1=pause 2=12 3=3");
}

TEST(Hesrpt, MoreJobsThanCoresRunTheSmallest) {
  auto world = MakeWorld(kFourCores, "hesrpt", {{"p", "0.5"}});
  for (int id = 1; id <= 9; ++id) world->Submit(SizedJob(id, UpTo(4, 4), 10 * id, 0.5));
  // 81 parts: 17, 15, 13, 11 of them times 4 are 0.84, 0.74, 0.64, 0.54 cores.
  EXPECT_EQ(world->Counts().substr(0, 15), "1=1 2=1 3=1 4=1");
}

TEST(Hesrpt, JobsOfFixedThreadsGetNoMoreCoresThanThreads) {
  auto world = MakeWorld(kSixteenCores, "hesrpt", {{"p", "0.5"}});
  Job rigid = SizedJob(1, UpTo(4, 16), 10, 0.5, Elasticity::kRigid);
  world->Submit(rigid);
  world->Submit(SizedJob(2, UpTo(16, 16), 100, 0.5));
  EXPECT_EQ(world->Counts(), "1=4 2=12");
  world->SettleAll();
  world->Submit(SizedJob(3, UpTo(16, 16), 1000, 0.5, Elasticity::kMoldable));
  EXPECT_EQ(world->Counts(), "1=4 2=9 3=3");
  world->SettleAll();
  world->Finish(2);
  EXPECT_EQ(world->Counts(), "1=4 3=3");
  EXPECT_EQ(UsefulCores(*world->arbiter.View().Find({3})), 3);
}

// --- marginal-speedup

TEST(MarginalSpeedup, JobsOfFixedThreadsGetNoMoreCoresThanThreads) {
  auto world = MakeWorld(kSixteenCores, "marginal-speedup");
  Job rigid = SizedJob(1, UpTo(2, 16), 10, 0.9, Elasticity::kRigid);
  rigid.threads = Split{2, 5};
  world->Submit(rigid);
  EXPECT_EQ(world->Counts(), "1=6");
}

TEST(MarginalSpeedup, EachCoreGoesWhereItGainsMost) {
  auto world = MakeWorld(kSixteenCores, "marginal-speedup");
  Job flat = SizedJob(1, UpTo(16, 16), 10);
  flat.speed = std::make_shared<SpeedCurve>(std::vector<double>{10, 15, 17, 18});
  Job steep = SizedJob(2, UpTo(16, 16), 10);
  steep.speed = std::make_shared<SpeedCurve>(std::vector<double>{1, 1.9, 2.6, 2.7, 2.75});
  world->Submit(flat);
  EXPECT_EQ(world->Counts(), "1=4") << "cores that gain nothing stay idle";
  world->SettleAll();
  world->Submit(steep);
  EXPECT_EQ(world->Counts(), "1=4 2=5");
}

TEST(MarginalSpeedup, GainsAreRelativeToTheJobsOwnSpeedOnOneCore) {
  auto world = MakeWorld(kFourCores, "marginal-speedup");
  Job fast = SizedJob(1, UpTo(4, 4), 10);  // Gains of 0.2, 0.1.
  fast.speed = std::make_shared<SpeedCurve>(std::vector<double>{100, 120, 130});
  Job slow = SizedJob(2, UpTo(4, 4), 10);  // Gains of 0.9, 0.7.
  slow.speed = std::make_shared<SpeedCurve>(std::vector<double>{1, 1.9, 2.6});
  world->Submit(fast);
  world->SettleAll();
  world->Submit(slow);
  EXPECT_EQ(world->Counts(), "1=1 2=3");
}

TEST(MarginalSpeedup, MinAndMaxBoundIt) {
  auto world = MakeWorld(kSixteenCores, "marginal-speedup");
  world->Submit(SizedJob(1, {6, 6, 16}, 10, 0.1));
  world->Submit(SizedJob(2, {1, 2, 3}, 10, 0.9));
  world->Submit(SizedJob(3, UpTo(8, 8), 10, 0.5));
  EXPECT_EQ(world->Counts(), "1=6 2=3 3=7");
}

}  // namespace
}  // namespace cosched
