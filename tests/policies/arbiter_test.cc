// What the arbiter does with decisions, and against hosts that misbehave; arbiter_contract_test.cc
// has the policies that do.

#include "policies/arbiter.h"

#include <gtest/gtest.h>

#include "tests/policies/arbiter_fixture.h"

namespace cosched {
namespace {

class OversubscribingArbiterTest : public ArbiterTest {
 protected:
  OversubscribingArbiterTest() : ArbiterTest(true) {}
};
// --- Revoke before grant.

TEST_F(ArbiterTest, StartWaitsUntilTheCoresAreLeft) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  EXPECT_EQ(TakeLog(), "grant 1 0-1 1x2");
  EXPECT_EQ(world_.State(), "1=0-1 2=2-3");
  EXPECT_TRUE(world_.arbiter.InTransition());
  world_.Settle(1);
  EXPECT_EQ(TakeLog(), "start 2 2-3 1x2");
  world_.Settle(2);
  EXPECT_FALSE(world_.arbiter.InTransition());
}

TEST_F(ArbiterTest, CoresBeingVacatedAreNotFreeAndAreTakenLast) {
  SubmitRunning(1, {0, 1});
  SubmitWaiting(2);
  Decide({{{1}, Cores(1)}});
  EXPECT_EQ(world_.arbiter.View().vacating, CpuSet{1});
  EXPECT_EQ(world_.arbiter.View().FreeCores(), (CpuSet{2, 3}));
  TakeLog();
  Decide({{{2}, Cores(2)}});
  EXPECT_EQ(TakeLog(), "start 2 2-3 1x2");
  world_.SettleAll();
  EXPECT_EQ(world_.arbiter.View().FreeCores(), CpuSet{1});
}

TEST_F(ArbiterTest, NewcomerIsPlacedOnFreeCoresRatherThanOnThoseRevokedForIt) {
  SubmitRunning(1, {0, 1});
  policy().next.jobs = {{{1}, Cores(1)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  EXPECT_EQ(TakeLog(), "grant 1 0 1x1; start 2 2-3 1x2");
}

TEST_F(ArbiterTest, ShrinkGrowAndStartAtOnce) {
  SubmitRunning(1, {0, 1, 2});
  SubmitRunning(2, {3});
  policy().next.jobs = {{{1}, Cores(1)}, {{2}, Cores(2)}, {{3}, Cores(1)}};
  SubmitWaiting(3);
  EXPECT_EQ(TakeLog(), "grant 1 0 1x1");
  EXPECT_EQ(world_.State(), "1=0 2=1,3 3=2");
  world_.Settle(1);
  EXPECT_EQ(TakeLog(), "grant 2 1,3 1x2; start 3 2 1x1");
}

TEST_F(ArbiterTest, GrowthOntoFreeCoresDoesNotWaitForOthers) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2});
  Decide({{{1}, Cores(1)}});
  TakeLog();
  Decide({{{2}, Cores(2)}});
  EXPECT_EQ(TakeLog(), "grant 2 2-3 1x2");
}

TEST_F(ArbiterTest, JobsThatSwapCoresDoNotWaitForEachOther) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(CpuSet{2, 3})}, {{2}, Cores(CpuSet{0, 1})}});
  EXPECT_EQ(TakeLog(), "pause 1; pause 2");
  world_.Settle(2);
  EXPECT_EQ(TakeLog(), "grant 1 2-3 1x2");
  world_.Settle(1);
  EXPECT_EQ(TakeLog(), "grant 2 0-1 1x2");
  world_.Settle(2);
  EXPECT_EQ(world_.State(), "1=2-3 2=0-1");
}

TEST_F(ArbiterTest, JobThatMustMoveKeepsTheCoresItMay) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(CpuSet{1, 2})}, {{2}, Cores(CpuSet{0, 3})}});
  EXPECT_EQ(TakeLog(), "grant 1 1 1x1; grant 2 3 1x1");
  world_.SettleAll();
  EXPECT_EQ(TakeLog(), "grant 2 0,3 1x2; grant 1 1-2 1x2");
}

TEST_F(ArbiterTest, JobThatMustMoveIsPausedRatherThanRunBelowItsMin) {
  policy().next.jobs[{1}] = Cores(CpuSet{0, 1});
  world_.Submit(1, {2, 2, 2});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(CpuSet{1, 2})}, {{2}, Cores(CpuSet{0, 3})}});
  EXPECT_EQ(TakeLog(), "pause 1; grant 2 3 1x1");
  world_.SettleAll();
  EXPECT_EQ(world_.State(), "1=1-2 2=0,3");
}

TEST_F(ArbiterTest, MakingRoomIsNotReportedAsSettled) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(CpuSet{2, 3})}, {{2}, Cores(CpuSet{0, 1})}});
  world_.observer.Take();
  const int before = policy().settled;
  world_.Settle(1);
  EXPECT_EQ(policy().settled, before);
  EXPECT_EQ(world_.observer.Take(), "grant 2 0-1");
}

TEST_F(ArbiterTest, SettledCountsFromTheDecision) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  world_.Pass(1);
  world_.Settle(1);
  world_.Pass(2);
  world_.Settle(2);
  EXPECT_EQ(world_.observer.settle_times[{1}], FromSeconds(1));
  EXPECT_EQ(world_.observer.settle_times[{2}], FromSeconds(3));
  EXPECT_EQ(world_.observer.Take("settled"), "settled 1 0-1; settled 2 2-3");
}

// --- The policy changes its mind.

TEST_F(ArbiterTest, RevocationIsTakenBackWhileInFlight) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  TakeLog();
  world_.observer.Take();
  Decide({{{1}, Cores(4)}, {{2}, Pause{}}});
  EXPECT_EQ(TakeLog(), "grant 1 0-3 1x4");
  EXPECT_EQ(world_.State(), "1=0-3 2=wait");  // Job 2's start was called off.
  EXPECT_FALSE(world_.arbiter.View().Find({2})->started.has_value());
  const int before = policy().settled;
  world_.Settle(1);
  EXPECT_EQ(policy().settled, before + 1);
  EXPECT_EQ(world_.observer.Take("settled"), "settled 1 0-3");
  EXPECT_EQ(TakeLog(), "");
  EXPECT_FALSE(world_.arbiter.InTransition());
}

TEST_F(ArbiterTest, PromisedStartIsMadeSmaller) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(1)}, {{2}, Cores(3)}};
  SubmitWaiting(2);
  Decide({{{2}, Cores(1)}});
  world_.SettleAll();
  EXPECT_EQ(TakeLog(), "grant 1 0 1x1; start 2 1 1x1");
}

TEST_F(ArbiterTest, ShrinkFollowsGrowthThatIsInFlight) {
  SubmitRunning(1, {0});
  Decide({{{1}, Cores(4)}});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  // Job 1 may be on any core until it says otherwise, so job 2 waits.
  EXPECT_EQ(TakeLog(), "grant 1 0-3 1x4; grant 1 0-1 1x2");
  world_.Settle(1);
  EXPECT_EQ(TakeLog(), "start 2 2-3 1x2");
}

TEST_F(ArbiterTest, GrowthThatWaitsIsTakenBackAndAnswered) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(3)}, {{2}, Cores(1)}});
  EXPECT_EQ(TakeLog(), "grant 2 2 1x1");
  const int before = policy().settled;
  Decide({{{1}, Cores(2)}});
  world_.Settle(1);
  EXPECT_EQ(policy().settled, before + 1);
  EXPECT_EQ(world_.State(), "1=0-1 2=2");
}

TEST_F(ArbiterTest, PolicyThatDecidesOnSettledIsObeyed) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().always = [](const MachineView& view, const Event&) -> Allocation {
    const int now = view.Find({1})->cores.Count();
    if (now == 1) return {};
    return {{{{1}, Cores(now - 1)}}};
  };
  world_.arbiter.Tick();
  world_.SettleAll();
  EXPECT_EQ(TakeLog(), "grant 1 0-2 1x3; grant 1 0-1 1x2; grant 1 0 1x1");
}

// --- Pause, resume, reject.

TEST_F(ArbiterTest, PausedJobResumesWhereItsMemoryIs) {
  SubmitRunning(1, {2, 3});
  Decide({{{1}, Pause{}}});
  EXPECT_EQ(TakeLog(), "pause 1");
  EXPECT_EQ(world_.State(), "1=pause");
  EXPECT_EQ(world_.arbiter.View().FreeCores(), (CpuSet{0, 1}));
  world_.SettleAll();
  EXPECT_EQ(world_.arbiter.View().FreeCores(), (CpuSet{0, 1, 2, 3}));
  EXPECT_EQ(world_.arbiter.Started(), 1);
  Decide({{{1}, Cores(2)}});
  EXPECT_EQ(TakeLog(), "grant 1 2-3 1x2");
}

TEST_F(ArbiterTest, ResumeOvertakesThePauseInFlight) {
  SubmitRunning(1, {2, 3});
  Decide({{{1}, Pause{}}});
  Decide({{{1}, Cores(CpuSet{2, 3})}});
  EXPECT_EQ(TakeLog(), "pause 1; grant 1 2-3 1x2");
  world_.SettleAll();
  EXPECT_EQ(world_.State(), "1=2-3");
}

TEST_F(ArbiterTest, CoresOfAPausedJobGoOnOnlyWhenItHasLeft) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Pause{}}, {{2}, Cores(4)}};
  SubmitWaiting(2);
  EXPECT_EQ(TakeLog(), "pause 1");
  world_.Settle(1);
  EXPECT_EQ(TakeLog(), "start 2 0-3 1x4");
}

TEST_F(ArbiterTest, RejectedJobEndsWithTheReason) {
  SubmitWaiting(1);
  SubmitWaiting(2);
  world_.observer.Take();
  Decide({{{1}, Reject{"too long"}}, {{2}, Reject{}}});
  EXPECT_EQ(world_.observer.Take("rejected"),
            "rejected 1: too long; rejected 2: rejected by the policy");
  EXPECT_EQ(world_.arbiter.Waiting() + world_.arbiter.Started(), 0);
}

TEST_F(ArbiterTest, ImpossibleRequestIsRejectedWithoutAskingThePolicy) {
  world_.Submit(1, {5, 5, 5});
  EXPECT_EQ(world_.observer.Take(),
            "submitted 1; rejected 1: needs at least 5 cores, the machine has 4");
  EXPECT_EQ(world_.observer.decisions, 0);
}

// --- Jobs that end at a bad moment, hosts that say odd things.

TEST_F(ArbiterTest, JobThatFailsMidRevokeFreesItsCores) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  TakeLog();
  world_.Fail(1, "hung");
  EXPECT_EQ(TakeLog(), "start 2 2-3 1x2");
  EXPECT_EQ(world_.observer.Take("failed"), "failed 1: hung");
}

TEST_F(ArbiterTest, JobThatFinishesMidRevokeFreesItsCores) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(CpuSet{2, 3})}, {{2}, Cores(CpuSet{0, 1})}});
  TakeLog();
  world_.Finish(2);
  EXPECT_EQ(TakeLog(), "grant 1 2-3 1x2");
}

TEST_F(ArbiterTest, JobFailsBeforeItsPromisedStart) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  TakeLog();
  world_.Fail(2, "no data set");
  world_.SettleAll();
  EXPECT_EQ(TakeLog(), "");
  EXPECT_EQ(world_.State(), "1=0-1");
}

TEST_F(ArbiterTest, LateAndRepeatedHostEventsChangeNothing) {
  SubmitRunning(1, {0});
  world_.arbiter.Handle(HostSettled{{1}});
  EXPECT_EQ(world_.observer.Take(), "");
  world_.Finish(1);
  world_.observer.Take();
  world_.arbiter.Handle(HostSettled{{1}});
  world_.arbiter.Handle(HostFinished{{1}});
  world_.arbiter.Handle(HostFailed{{1}, "gone"});
  EXPECT_EQ(world_.observer.Take(), "");
}

TEST_F(ArbiterTest, SettledInAnyOrderEndsTheSame) {
  for (const std::vector<int64_t>& order :
       {std::vector<int64_t>{1, 2, 3}, std::vector<int64_t>{3, 2, 1},
        std::vector<int64_t>{2, 3, 1}}) {
    World world(kFourCores, std::make_unique<ScriptedPolicy>());
    auto& policy = static_cast<ScriptedPolicy&>(*world.policy);
    for (int64_t id : {1, 2, 3}) {
      policy.next.jobs[{id}] = Cores(1);
      world.Submit(id, {1, 2, 4});
    }
    world.SettleAll();
    policy.next.jobs = {
        {{1}, Cores(CpuSet{1})}, {{2}, Cores(CpuSet{2})}, {{3}, Cores(CpuSet{0, 3})}};
    world.arbiter.Tick();
    for (int64_t id : order) world.Settle(id);
    world.SettleAll();
    EXPECT_EQ(world.State(), "1=1 2=2 3=0,3");
    EXPECT_EQ(world.host.jobs.at({3}).may_be_on, (CpuSet{0, 3}));
  }
}

TEST_F(ArbiterTest, ThreadsFollowTheElasticityClass) {
  auto start = [&](int64_t id, Elasticity elasticity, int cores, std::optional<Split> split) {
    policy().next.jobs[{id}] = Cores(cores, split);
    world_.Submit(MakeJob(id, {1, 3, 4}, elasticity));
  };
  start(1, Elasticity::kRigid, 1, Split{2, 2});
  start(2, Elasticity::kMoldable, 1, {});
  start(3, Elasticity::kMalleable, 1, Split{2, 1});
  EXPECT_EQ(TakeLog(), "start 1 0 1x3; start 2 1 1x1; start 3 2 2x1");
  for (int64_t id : {1, 2, 3}) {
    Decide({{{id}, Cores(2)}});
    world_.SettleAll();
    Decide({{{id}, Cores(1)}});
    world_.SettleAll();
  }
  EXPECT_EQ(
      TakeLog(),
      "grant 1 0,3 1x3; grant 1 0 1x3; grant 2 1,3 1x1; grant 2 1 1x1; grant 3 2-3 1x2; grant 3 "
      "2 1x1");
}

TEST_F(ArbiterTest, ChangeOfTheSplitAloneIsTold) {
  SubmitRunning(1, {0, 1});
  Decide({{{1}, Cores(2, Split{2, 1})}});
  EXPECT_EQ(TakeLog(), "grant 1 0-1 2x1");
}

TEST_F(ArbiterTest, ViewTellsProgressAndTimes) {
  world_.Pass(5);
  SubmitWaiting(1);
  world_.Pass(2);
  Decide({{{1}, Cores(1)}});
  world_.arbiter.Tick();
  const JobView& job = *policy().last_view.Find({1});
  EXPECT_EQ(job.submitted, TimePoint(FromSeconds(5)));
  EXPECT_EQ(job.started, TimePoint(FromSeconds(7)));
  EXPECT_EQ(policy().last_view.Progress(job), 0.5);
  EXPECT_EQ(policy().last_view.now, TimePoint(FromSeconds(7)));
  EXPECT_EQ(policy().ticks, 2);
}

TEST_F(ArbiterTest, AJobThatIsHandedOverLateHasWaitedSinceItsArrival) {
  world_.Pass(5);
  Job job = MakeJob(1, {1, 1, 4});
  job.arrival = TimePoint(FromSeconds(3));
  world_.Submit(job);
  EXPECT_EQ(policy().last_view.Find({1})->submitted, TimePoint(FromSeconds(3)));
  EXPECT_EQ(policy().last_view.now, TimePoint(FromSeconds(5)));
}

// --- Policies that are allowed to oversubscribe.

TEST_F(OversubscribingArbiterTest, SetsMayOverlapAndNobodyWaits) {
  SubmitRunning(1, {0, 1, 2});
  policy().next.jobs = {{{1}, Cores(CpuSet{0, 1})}, {{2}, Cores(CpuSet{1, 2})}};
  SubmitWaiting(2);
  EXPECT_EQ(TakeLog(), "grant 1 0-1 1x2; start 2 1-2 1x2");
  EXPECT_TRUE(world_.arbiter.View().vacating.Empty());
}

TEST_F(OversubscribingArbiterTest, CountsUseFreeCoresFirst) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {1});
  policy().next.jobs = {{{2}, Cores(2)}, {{3}, Cores(3)}};
  SubmitWaiting(3);
  EXPECT_EQ(world_.State(), "1=0-1 2=1-2 3=0-2");
}

TEST_F(OversubscribingArbiterTest, ExplicitSetMayExceedTheMaxACountMayNot) {
  world_.Submit(1, {1, 2, 2});
  ExpectViolation({{{1}, Cores(3)}}, "job 1: 3 cores are more than its max 2");
  Decide({{{1}, Cores(CpuSet{0, 1, 2, 3}, Split{1, 2})}});
  EXPECT_EQ(TakeLog(), "start 1 0-3 1x2");
}

// --- Our own bugs.

TEST_F(ArbiterTest, BugsOfTheCallerAbort) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  SubmitWaiting(1);
  EXPECT_DEATH(SubmitWaiting(1), "job 1 comes after 1");
  EXPECT_DEATH(world_.Submit(2, {3, 2, 4}), "job 2 asks for 3 <= 2 <= 4 cores");
  EXPECT_DEATH(world_.arbiter.Handle(HostFinished{{7}}), "job 7, never submitted");
  EXPECT_DEATH(world_.arbiter.Handle(HostFinished{{1}}), "job 1 finished and was never started");
  EXPECT_DEATH((world_.Pass(1), world_.arbiter.Tick(), world_.Pass(-1), world_.arbiter.Tick()),
               "clock went back");
}

TEST(ArbiterWithoutSettledTest, PassesCoresOnWithoutAskingThePolicy) {
  World world(kFourCores, std::make_unique<ScriptedPolicy>(), false, /*on_settled=*/false);
  auto& policy = static_cast<ScriptedPolicy&>(*world.policy);
  policy.next.jobs[{1}] = Cores(CpuSet::Range(0, 3));
  world.Submit(1, {1, 2, 4});
  world.SettleAll();
  policy.next.jobs = {{{1}, Cores(CpuSet{0, 1})}, {{2}, Cores(CpuSet{2, 3})}};
  world.Submit(2, {1, 2, 4});
  world.host.TakeLog();
  world.Settle(1);
  EXPECT_EQ(world.host.TakeLog(), "start 2 2-3 1x2");
  world.SettleAll();
  EXPECT_EQ(policy.settled, 0);
  EXPECT_EQ(world.observer.decisions, 2);
}

}  // namespace
}  // namespace cosched
