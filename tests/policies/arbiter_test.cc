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
  EXPECT_EQ(machine_.State(), "1=0-1 2=2-3");
  EXPECT_TRUE(machine_.arbiter.InTransition());
  machine_.Settle(1);
  EXPECT_EQ(TakeLog(), "start 2 2-3 1x2");
  machine_.Settle(2);
  EXPECT_FALSE(machine_.arbiter.InTransition());
}

TEST_F(ArbiterTest, CoresBeingVacatedAreNotFreeAndAreTakenLast) {
  SubmitRunning(1, {0, 1});
  SubmitWaiting(2);
  Decide({{{1}, Cores(1)}});
  EXPECT_EQ(machine_.arbiter.View().vacating, CpuSet{1});
  EXPECT_EQ(machine_.arbiter.View().FreeCores(), (CpuSet{2, 3}));
  TakeLog();
  Decide({{{2}, Cores(2)}});
  EXPECT_EQ(TakeLog(), "start 2 2-3 1x2");
  machine_.SettleAll();
  EXPECT_EQ(machine_.arbiter.View().FreeCores(), CpuSet{1});
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
  EXPECT_EQ(machine_.State(), "1=0 2=1,3 3=2");
  machine_.Settle(1);
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
  machine_.Settle(2);
  EXPECT_EQ(TakeLog(), "grant 1 2-3 1x2");
  machine_.Settle(1);
  EXPECT_EQ(TakeLog(), "grant 2 0-1 1x2");
  machine_.Settle(2);
  EXPECT_EQ(machine_.State(), "1=2-3 2=0-1");
}

TEST_F(ArbiterTest, JobThatMustMoveKeepsTheCoresItMay) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(CpuSet{1, 2})}, {{2}, Cores(CpuSet{0, 3})}});
  EXPECT_EQ(TakeLog(), "grant 1 1 1x1; grant 2 3 1x1");
  machine_.SettleAll();
  EXPECT_EQ(TakeLog(), "grant 2 0,3 1x2; grant 1 1-2 1x2");
}

TEST_F(ArbiterTest, JobThatMustMoveIsPausedRatherThanRunBelowItsMin) {
  policy().next.jobs[{1}] = Cores(CpuSet{0, 1});
  machine_.Submit(1, {2, 2, 2});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(CpuSet{1, 2})}, {{2}, Cores(CpuSet{0, 3})}});
  EXPECT_EQ(TakeLog(), "pause 1; grant 2 3 1x1");
  machine_.SettleAll();
  EXPECT_EQ(machine_.State(), "1=1-2 2=0,3");
}

TEST_F(ArbiterTest, MakingRoomIsNotReportedAsSettled) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(CpuSet{2, 3})}, {{2}, Cores(CpuSet{0, 1})}});
  machine_.observer.Take();
  const int before = policy().settled;
  machine_.Settle(1);
  EXPECT_EQ(policy().settled, before);
  EXPECT_EQ(machine_.observer.Take(), "grant 2 0-1");
}

TEST_F(ArbiterTest, SettledCountsFromTheDecision) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  machine_.Pass(1);
  machine_.Settle(1);
  machine_.Pass(2);
  machine_.Settle(2);
  EXPECT_EQ(machine_.observer.settle_times[{1}], FromSeconds(1));
  EXPECT_EQ(machine_.observer.settle_times[{2}], FromSeconds(3));
  EXPECT_EQ(machine_.observer.Take("settled"), "settled 1 0-1; settled 2 2-3");
}

// --- The policy changes its mind.

TEST_F(ArbiterTest, RevocationIsTakenBackWhileInFlight) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  TakeLog();
  machine_.observer.Take();
  Decide({{{1}, Cores(4)}, {{2}, Pause{}}});
  EXPECT_EQ(TakeLog(), "grant 1 0-3 1x4");
  EXPECT_EQ(machine_.State(), "1=0-3 2=wait");  // Job 2's start was called off.
  EXPECT_FALSE(machine_.arbiter.View().Find({2})->started.has_value());
  const int before = policy().settled;
  machine_.Settle(1);
  EXPECT_EQ(policy().settled, before + 1);
  EXPECT_EQ(machine_.observer.Take("settled"), "settled 1 0-3");
  EXPECT_EQ(TakeLog(), "");
  EXPECT_FALSE(machine_.arbiter.InTransition());
}

TEST_F(ArbiterTest, PromisedStartIsMadeSmaller) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(1)}, {{2}, Cores(3)}};
  SubmitWaiting(2);
  Decide({{{2}, Cores(1)}});
  machine_.SettleAll();
  EXPECT_EQ(TakeLog(), "grant 1 0 1x1; start 2 1 1x1");
}

TEST_F(ArbiterTest, ShrinkFollowsGrowthThatIsInFlight) {
  SubmitRunning(1, {0});
  Decide({{{1}, Cores(4)}});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  // Job 1 may be on any core until it says otherwise, so job 2 waits.
  EXPECT_EQ(TakeLog(), "grant 1 0-3 1x4; grant 1 0-1 1x2");
  machine_.Settle(1);
  EXPECT_EQ(TakeLog(), "start 2 2-3 1x2");
}

TEST_F(ArbiterTest, GrowthThatWaitsIsTakenBackAndAnswered) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(3)}, {{2}, Cores(1)}});
  EXPECT_EQ(TakeLog(), "grant 2 2 1x1");
  const int before = policy().settled;
  Decide({{{1}, Cores(2)}});
  machine_.Settle(1);
  EXPECT_EQ(policy().settled, before + 1);
  EXPECT_EQ(machine_.State(), "1=0-1 2=2");
}

TEST_F(ArbiterTest, PolicyThatDecidesOnSettledIsObeyed) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().always = [](const MachineView& view, const Event&) -> Allocation {
    const int now = view.Find({1})->cores.Count();
    if (now == 1) return {};
    return {{{{1}, Cores(now - 1)}}};
  };
  machine_.arbiter.Tick();
  machine_.SettleAll();
  EXPECT_EQ(TakeLog(), "grant 1 0-2 1x3; grant 1 0-1 1x2; grant 1 0 1x1");
}

// --- Pause, resume, reject.

TEST_F(ArbiterTest, PausedJobResumesWhereItsMemoryIs) {
  SubmitRunning(1, {2, 3});
  Decide({{{1}, Pause{}}});
  EXPECT_EQ(TakeLog(), "pause 1");
  EXPECT_EQ(machine_.State(), "1=pause");
  EXPECT_EQ(machine_.arbiter.View().FreeCores(), (CpuSet{0, 1}));
  machine_.SettleAll();
  EXPECT_EQ(machine_.arbiter.View().FreeCores(), (CpuSet{0, 1, 2, 3}));
  EXPECT_EQ(machine_.arbiter.Started(), 1);
  Decide({{{1}, Cores(2)}});
  EXPECT_EQ(TakeLog(), "grant 1 2-3 1x2");
}

TEST_F(ArbiterTest, ResumeOvertakesThePauseInFlight) {
  SubmitRunning(1, {2, 3});
  Decide({{{1}, Pause{}}});
  Decide({{{1}, Cores(CpuSet{2, 3})}});
  EXPECT_EQ(TakeLog(), "pause 1; grant 1 2-3 1x2");
  machine_.SettleAll();
  EXPECT_EQ(machine_.State(), "1=2-3");
}

TEST_F(ArbiterTest, CoresOfAPausedJobGoOnOnlyWhenItHasLeft) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Pause{}}, {{2}, Cores(4)}};
  SubmitWaiting(2);
  EXPECT_EQ(TakeLog(), "pause 1");
  machine_.Settle(1);
  EXPECT_EQ(TakeLog(), "start 2 0-3 1x4");
}

TEST_F(ArbiterTest, RejectedJobEndsWithTheReason) {
  SubmitWaiting(1);
  SubmitWaiting(2);
  machine_.observer.Take();
  Decide({{{1}, Reject{"too long"}}, {{2}, Reject{}}});
  EXPECT_EQ(machine_.observer.Take("rejected"),
            "rejected 1: too long; rejected 2: rejected by the policy");
  EXPECT_EQ(machine_.arbiter.Waiting() + machine_.arbiter.Started(), 0);
}

TEST_F(ArbiterTest, ImpossibleRequestIsRejectedWithoutAskingThePolicy) {
  machine_.Submit(1, {5, 5, 5});
  EXPECT_EQ(machine_.observer.Take(),
            "submitted 1; rejected 1: needs at least 5 cores, the machine has 4");
  EXPECT_EQ(machine_.observer.decisions, 0);
}

// --- Jobs that end at a bad moment, hosts that say odd things.

TEST_F(ArbiterTest, JobThatFailsMidRevokeFreesItsCores) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  TakeLog();
  machine_.Fail(1, "hung");
  EXPECT_EQ(TakeLog(), "start 2 2-3 1x2");
  EXPECT_EQ(machine_.observer.Take("failed"), "failed 1: hung");
}

TEST_F(ArbiterTest, JobThatFinishesMidRevokeFreesItsCores) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, Cores(CpuSet{2, 3})}, {{2}, Cores(CpuSet{0, 1})}});
  TakeLog();
  machine_.Finish(2);
  EXPECT_EQ(TakeLog(), "grant 1 2-3 1x2");
}

TEST_F(ArbiterTest, JobFailsBeforeItsPromisedStart) {
  SubmitRunning(1, {0, 1, 2, 3});
  policy().next.jobs = {{{1}, Cores(2)}, {{2}, Cores(2)}};
  SubmitWaiting(2);
  TakeLog();
  machine_.Fail(2, "no data set");
  machine_.SettleAll();
  EXPECT_EQ(TakeLog(), "");
  EXPECT_EQ(machine_.State(), "1=0-1");
}

TEST_F(ArbiterTest, LateAndRepeatedHostEventsChangeNothing) {
  SubmitRunning(1, {0});
  machine_.arbiter.Handle(HostSettled{{1}});
  EXPECT_EQ(machine_.observer.Take(), "");
  machine_.Finish(1);
  machine_.observer.Take();
  machine_.arbiter.Handle(HostSettled{{1}});
  machine_.arbiter.Handle(HostFinished{{1}});
  machine_.arbiter.Handle(HostFailed{{1}, "gone"});
  EXPECT_EQ(machine_.observer.Take(), "");
}

TEST_F(ArbiterTest, SettledInAnyOrderEndsTheSame) {
  for (const std::vector<int64_t>& order :
       {std::vector<int64_t>{1, 2, 3}, std::vector<int64_t>{3, 2, 1},
        std::vector<int64_t>{2, 3, 1}}) {
    ScheduledMachine machine(kFourCores, std::make_unique<ScriptedPolicy>());
    auto& policy = static_cast<ScriptedPolicy&>(*machine.policy);
    for (int64_t id : {1, 2, 3}) {
      policy.next.jobs[{id}] = Cores(1);
      machine.Submit(id, {1, 2, 4});
    }
    machine.SettleAll();
    policy.next.jobs = {
        {{1}, Cores(CpuSet{1})}, {{2}, Cores(CpuSet{2})}, {{3}, Cores(CpuSet{0, 3})}};
    machine.arbiter.Tick();
    for (int64_t id : order) machine.Settle(id);
    machine.SettleAll();
    EXPECT_EQ(machine.State(), "1=1 2=2 3=0,3");
    EXPECT_EQ(machine.host.jobs.at({3}).may_be_on, (CpuSet{0, 3}));
  }
}

TEST_F(ArbiterTest, ThreadsFollowTheElasticityClass) {
  auto start = [&](int64_t id, Elasticity elasticity, int cores, std::optional<Split> split) {
    policy().next.jobs[{id}] = Cores(cores, split);
    machine_.Submit(MakeJob(id, {1, 3, 4}, elasticity));
  };
  start(1, Elasticity::kRigid, 1, Split{2, 2});
  start(2, Elasticity::kMoldable, 1, {});
  start(3, Elasticity::kMalleable, 1, Split{2, 1});
  EXPECT_EQ(TakeLog(), "start 1 0 1x3; start 2 1 1x1; start 3 2 2x1");
  for (int64_t id : {1, 2, 3}) {
    Decide({{{id}, Cores(2)}});
    machine_.SettleAll();
    Decide({{{id}, Cores(1)}});
    machine_.SettleAll();
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
  machine_.Pass(5);
  SubmitWaiting(1);
  machine_.Pass(2);
  Decide({{{1}, Cores(1)}});
  machine_.arbiter.Tick();
  const JobView& job = *policy().last_view.Find({1});
  EXPECT_EQ(job.submitted, TimePoint(FromSeconds(5)));
  EXPECT_EQ(job.started, TimePoint(FromSeconds(7)));
  EXPECT_EQ(policy().last_view.Progress(job), 0.5);
  EXPECT_EQ(policy().last_view.now, TimePoint(FromSeconds(7)));
  EXPECT_EQ(policy().ticks, 2);
}

TEST_F(ArbiterTest, AJobThatIsHandedOverLateHasWaitedSinceItsArrival) {
  machine_.Pass(5);
  Job job = MakeJob(1, {1, 1, 4});
  job.arrival = TimePoint(FromSeconds(3));
  machine_.Submit(job);
  EXPECT_EQ(policy().last_view.Find({1})->submitted, TimePoint(FromSeconds(3)));
  EXPECT_EQ(policy().last_view.now, TimePoint(FromSeconds(5)));
}

// --- Policies that are allowed to oversubscribe.

TEST_F(OversubscribingArbiterTest, SetsMayOverlapAndNobodyWaits) {
  SubmitRunning(1, {0, 1, 2});
  policy().next.jobs = {{{1}, Cores(CpuSet{0, 1})}, {{2}, Cores(CpuSet{1, 2})}};
  SubmitWaiting(2);
  EXPECT_EQ(TakeLog(), "grant 1 0-1 1x2; start 2 1-2 1x2");
  EXPECT_TRUE(machine_.arbiter.View().vacating.Empty());
}

TEST_F(OversubscribingArbiterTest, CountsUseFreeCoresFirst) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {1});
  policy().next.jobs = {{{2}, Cores(2)}, {{3}, Cores(3)}};
  SubmitWaiting(3);
  EXPECT_EQ(machine_.State(), "1=0-1 2=1-2 3=0-2");
}

TEST_F(OversubscribingArbiterTest, ExplicitSetMayExceedTheMaxACountMayNot) {
  machine_.Submit(1, {1, 2, 2});
  ExpectViolation({{{1}, Cores(3)}}, "job 1: 3 cores are more than its max 2");
  Decide({{{1}, Cores(CpuSet{0, 1, 2, 3}, Split{1, 2})}});
  EXPECT_EQ(TakeLog(), "start 1 0-3 1x2");
}

// --- Our own bugs.

TEST_F(ArbiterTest, BugsOfTheCallerAbort) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  SubmitWaiting(1);
  EXPECT_DEATH(SubmitWaiting(1), "job 1 comes after 1");
  EXPECT_DEATH(machine_.Submit(2, {3, 2, 4}), "job 2 asks for 3 <= 2 <= 4 cores");
  EXPECT_DEATH(machine_.arbiter.Handle(HostFinished{{7}}), "job 7, never submitted");
  EXPECT_DEATH(machine_.arbiter.Handle(HostFinished{{1}}), "job 1 finished and was never started");
  EXPECT_DEATH(
      (machine_.Pass(1), machine_.arbiter.Tick(), machine_.Pass(-1), machine_.arbiter.Tick()),
      "clock went back");
}

TEST(ArbiterWithoutSettledTest, PassesCoresOnWithoutAskingThePolicy) {
  ScheduledMachine machine(kFourCores, std::make_unique<ScriptedPolicy>(), false,
                           /*on_settled=*/false);
  auto& policy = static_cast<ScriptedPolicy&>(*machine.policy);
  policy.next.jobs[{1}] = Cores(CpuSet::Range(0, 3));
  machine.Submit(1, {1, 2, 4});
  machine.SettleAll();
  policy.next.jobs = {{{1}, Cores(CpuSet{0, 1})}, {{2}, Cores(CpuSet{2, 3})}};
  machine.Submit(2, {1, 2, 4});
  machine.host.TakeLog();
  machine.Settle(1);
  EXPECT_EQ(machine.host.TakeLog(), "start 2 2-3 1x2");
  machine.SettleAll();
  EXPECT_EQ(policy.settled, 0);
  EXPECT_EQ(machine.observer.decisions, 2);
}

}  // namespace
}  // namespace cosched
