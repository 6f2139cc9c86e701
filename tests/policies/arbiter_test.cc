// The arbiter against policies and hosts that misbehave. FakeHost checks by itself that no core has
// two owners.

#include "policies/arbiter.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/policies/fake_host.h"

namespace cosched {
namespace {

// Answers with `next` once, then with nothing; notes what it is told.
class ScriptedPolicy final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    last_view = view;
    settled += std::holds_alternative<GrantSettled>(event);
    ticks += std::holds_alternative<Tick>(event);
    if (always) return always(view, event);
    return std::exchange(next, {});
  }

  Allocation next;
  std::function<Allocation(const MachineView&, const Event&)> always;
  MachineView last_view;
  int settled = 0;
  int ticks = 0;
};

Run Cores(std::variant<int, CpuSet> cores, std::optional<Split> split = {}) {
  return {.cores = std::move(cores), .split = split};
}

class ArbiterTest : public ::testing::Test {
 protected:
  explicit ArbiterTest(bool oversubscribes = false)
      : world_(kFourCores, std::make_unique<ScriptedPolicy>(), oversubscribes) {}

  ScriptedPolicy& policy() { return static_cast<ScriptedPolicy&>(*world_.policy); }
  std::string TakeLog() { return world_.host.TakeLog(); }
  // The policy decides this now.
  void Decide(std::map<JobId, JobDecision> jobs) {
    policy().next.jobs = std::move(jobs);
    world_.arbiter.Tick();
  }
  void SubmitWaiting(int64_t id) { world_.Submit(id, {1, 2, 4}); }
  // A job that runs on these cores already.
  void SubmitRunning(int64_t id, const CpuSet& cores) {
    policy().next.jobs[{id}] = Cores(cores);
    SubmitWaiting(id);
    world_.SettleAll();
    TakeLog();
    world_.observer.Take();
  }
  void ExpectViolation(std::map<JobId, JobDecision> jobs, const std::string& reason) {
    const std::string before = world_.State();
    try {
      Decide(std::move(jobs));
      ADD_FAILURE() << "allowed, though: " << reason;
    } catch (const PolicyError& error) {
      EXPECT_EQ(error.what(), "policy broke its contract at tick: " + reason);
    }
    EXPECT_EQ(world_.State(), before);
    EXPECT_EQ(TakeLog(), "");
  }

  World world_;
};

class OversubscribingArbiterTest : public ArbiterTest {
 protected:
  OversubscribingArbiterTest() : ArbiterTest(true) {}
};

// --- A policy that breaks its contract changes nothing and says why.

TEST_F(ArbiterTest, UnknownJobIsAViolation) {
  ExpectViolation({{{9}, Cores(1)}}, "job 9: there is no such job");
}

TEST_F(ArbiterTest, GrantOutsideMinAndMaxIsAViolation) {
  world_.Submit(1, {2, 2, 3});
  ExpectViolation({{{1}, Cores(4)}}, "job 1: 4 cores are more than its max 3");
  ExpectViolation({{{1}, Cores(1)}}, "job 1: 1 cores are fewer than its min 2");
  ExpectViolation({{{1}, Cores(0)}}, "job 1: 0 cores are fewer than its min 2");
  ExpectViolation({{{1}, Cores(-1)}}, "job 1: -1 cores are fewer than its min 2");
  ExpectViolation({{{1}, Cores(CpuSet())}}, "job 1: 0 cores are fewer than its min 2");
}

TEST_F(ArbiterTest, MoreThanTheMachineIsAViolation) {
  world_.Submit(1, {1, 8, 8});
  SubmitWaiting(2);
  ExpectViolation({{{1}, Cores(5)}}, "job 1: 5 cores are more than the machine's 4");
  ExpectViolation({{{1}, Cores(CpuSet{3, 4})}},
                  "job 1: cores 3-4 are not within the machine's 0-3");
  ExpectViolation({{{1}, Cores(3)}, {{2}, Cores(2)}},
                  "the grants add up to 5 cores, the machine has 4");
}

TEST_F(ArbiterTest, GrantsOfJobsLeftOutCount) {
  SubmitRunning(1, {0, 1, 2});
  SubmitWaiting(2);
  ExpectViolation({{{2}, Cores(2)}}, "the grants add up to 5 cores, the machine has 4");
  ExpectViolation({{{2}, Cores(CpuSet{2, 3})}}, "job 2: cores 2 are granted twice");
}

TEST_F(ArbiterTest, OverlappingSetsAreAViolation) {
  SubmitWaiting(1);
  SubmitWaiting(2);
  ExpectViolation({{{1}, Cores(CpuSet{0, 1})}, {{2}, Cores(CpuSet{1, 2})}},
                  "job 2: cores 1 are granted twice");
}

TEST_F(ArbiterTest, DecisionsAgainstTheStateAreViolations) {
  SubmitRunning(1, {0});
  SubmitWaiting(2);
  ExpectViolation({{{1}, Reject{}}}, "job 1: only a waiting job can be rejected");
  ExpectViolation({{{2}, Pause{}}}, "job 2: only a running job can be paused");
  Decide({{{1}, Pause{}}});
  TakeLog();
  ExpectViolation({{{1}, Pause{}}}, "job 1: only a running job can be paused");
  ExpectViolation({{{1}, Reject{}}}, "job 1: only a waiting job can be rejected");
}

TEST_F(ArbiterTest, SplitWithoutThreadsIsAViolation) {
  SubmitWaiting(1);
  ExpectViolation({{{1}, Cores(2, Split{0, 2})}}, "job 1: split 0x2 has a pool without threads");
}

TEST_F(ArbiterTest, ExceptionOfAPolicyIsAViolation) {
  policy().always = [](const MachineView&, const Event&) -> Allocation {
    throw std::out_of_range("map::at");
  };
  ExpectViolation({}, "the policy threw: map::at");
}

TEST_F(ArbiterTest, CellThatFailedEndsEveryJobOnce) {
  SubmitRunning(1, {0});
  SubmitWaiting(2);
  ExpectViolation({{{9}, Cores(1)}}, "job 9: there is no such job");
  world_.observer.Take();
  world_.arbiter.EndAll(JobEnd::kCancelled, "policy broke its contract");
  EXPECT_EQ(TakeLog(), "stop 1");
  EXPECT_EQ(world_.observer.Take(),
            "cancelled 1: policy broke its contract; cancelled 2: policy broke its contract");
  world_.arbiter.Handle(HostFinished{{1}});  // Was on its way.
  EXPECT_EQ(world_.observer.Take(), "");
}

TEST_F(ArbiterTest, EveryDecisionIsRecordedEvenIfItChangesNothing) {
  SubmitRunning(1, {0, 1});
  Decide({});
  Decide({{{1}, Cores(2)}});
  EXPECT_EQ(world_.observer.Take(), "tick -> ; tick -> ");
  EXPECT_EQ(TakeLog(), "");
  SubmitWaiting(2);
  SubmitWaiting(3);
  world_.observer.Take();
  Decide({{{1}, Pause{}}, {{2}, Cores(CpuSet{3})}, {{3}, Reject{}}});
  EXPECT_EQ(world_.observer.Take("tick"), "tick -> 1=pause 2=3 3=reject");
}

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
  EXPECT_EQ(world_.State(), "1=0-3 2=wait");  // Its start was called off.
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
