// Tenants that hang, lie, flood, stay where they may not be or leave something behind: each fails
// with its reason, and harms nobody else.

#include <gtest/gtest.h>

#include <string>

#include "experiments/hosts/process_host.h"
#include "tests/experiments/hosts/fake_tenant.h"
#include "tests/experiments/hosts/process_host_fixture.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(ProcessHostTest, SilentTenantIsGivenUp) {
  options_.timeouts.start = milliseconds(300);
  EXPECT_EQ(FailureOf("silent"), "did not say hello within 300 ms");
}

TEST_F(ProcessHostTest, TenantThatHangsIsGivenUp) {
  options_.timeouts.heartbeat = milliseconds(400);
  for (const auto& [behaviour, reason] : {std::pair("frozen", "gave no heartbeat within 400 ms"),
                                          std::pair("hung", "hangs: none of its threads")}) {
    const JobId job = Start(behaviour, one_);
    ExpectSettled(job);
    EXPECT_EQ(Failure(job).rfind(reason, 0), 0u) << behaviour;
  }
}

// A policy of turns, each shorter than a tenant may be silent.
TEST_F(ProcessHostTest, PausesDoNotHideATenantThatHangs) {
  options_.timeouts.heartbeat = milliseconds(400);
  options_.timeouts.start = milliseconds(400);
  const auto failure_within = [this](Duration turn) -> std::string {
    const TimePoint end = Host().GetClock().Now() + turn;
    while (const std::optional<HostEvent> event = Host().NextEvent(end)) {
      if (const auto* failed = std::get_if<HostFailed>(&*event)) return failed->reason;
    }
    return "";
  };
  for (const auto& [behaviour, reason] :
       {std::pair("hung", "hangs: none of its threads computed within 400 ms"),
        std::pair("frozen", "gave no heartbeat within 400 ms"),
        std::pair("silent", "did not say hello within 400 ms")}) {
    const Job job = JobOf(Elasticity::kRigid);
    Start(job, behaviour, one_);
    std::string failure = failure_within(milliseconds(300));
    for (int turn = 0; turn < 40 && failure.empty(); ++turn) {
      Host().Pause(job.id);
      failure = failure_within(milliseconds(50));
      if (!failure.empty()) break;
      Host().Grant(job.id, Place::Whole(one_, {1, 1}));
      failure = failure_within(milliseconds(300));
    }
    EXPECT_EQ(failure, reason);
  }
}

// Whoever was suspended looks before those have run that were suspended with it. The sleeps wait for
// nothing: they are the time in which nobody looks.
TEST_F(ProcessHostTest, ATimeInWhichNobodyLookedIsNoSilence) {
  options_.timeouts.heartbeat = seconds(1);
  options_.timeouts.start = milliseconds(300);
  ExpectSettled(Start("obedient", one_));
  EXPECT_FALSE(Next(milliseconds(300)));
  const pid_t tenant = OnlyChild();
  kill(tenant, SIGSTOP);
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_FALSE(Next(milliseconds(1)));
  kill(tenant, SIGCONT);
  EXPECT_FALSE(Next(milliseconds(500)));
  const JobId silent = Start("silent", one_);
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_FALSE(Next(milliseconds(1)));
  const std::optional<HostEvent> event = Next();
  ASSERT_TRUE(event && std::holds_alternative<HostFailed>(*event));
  EXPECT_EQ(std::get<HostFailed>(*event).job, silent);
  EXPECT_EQ(std::get<HostFailed>(*event).reason, "did not say hello within 300 ms");
}

TEST_F(ProcessHostTest, PausedByAPersonIsNoHang) {
  options_.timeouts.heartbeat = milliseconds(400);
  ExpectSettled(Start("napping", one_));
  EXPECT_FALSE(Next(milliseconds(1200)));
  const std::vector<ResizeSample> resizes = Host().TakeResizes();
  ASSERT_EQ(resizes.size(), 1u);
  EXPECT_EQ(resizes[0].cause, "ctl");
  EXPECT_EQ(resizes[0].after, (Split{0, 0}));
}

// Only a client that halves can have more threads than cores, for a while.
TEST_F(ProcessHostTest, MoreThreadsThanCoresAreBelievedOfAClientThatHalves) {
  options_.client = Client::kHalving;
  const JobId job = Start("crowded", one_);
  ExpectSettled(job);
  size_t resizes = 0;
  for (int i = 0; i < 400 && resizes == 0; ++i) {
    ASSERT_FALSE(Next(milliseconds(50)));
    resizes = Host().TakeResizes().size();
  }
  EXPECT_EQ(resizes, 1u);
  EXPECT_FALSE(Next(milliseconds(100)));
}

TEST_F(ProcessHostTest, MoreThreadsThanCoresAreNotBelievedOfOthers) {
  const JobId job = Start("crowded", one_);
  ExpectSettled(job);  // What it says next may come later.
  EXPECT_EQ(Failure(job), "reported a resize that can't be");
}

TEST_F(ProcessHostTest, TenantThatIgnoresItsGrantIsGivenUp) {
  if (machine_.Count() < 2) GTEST_SKIP() << "needs two cores to take one away";
  options_.timeouts.revocation = milliseconds(300);
  options_.timeouts.settle = seconds(60);  // Longer than anything here is waited for.
  for (const char* behaviour : {"deaf", "liar", "tireless"}) {
    const JobId job = Start(behaviour, two_);
    ExpectSettled(job);
    Host().Grant(job, Place::Whole(one_, {1, 1}));
    const std::string left = (two_ - one_).ToString();
    EXPECT_EQ(Failure(job), "did not leave cores " + left + " within 300 ms") << behaviour;
  }
}

// Whoever is in a task that was running when it was told ends it first, however long it takes.
TEST_F(ProcessHostTest, ALongTaskMayEndBeforeItsThreadLeaves) {
  if (machine_.Count() < 2) GTEST_SKIP() << "needs two cores to take one away";
  options_.timeouts.revocation = milliseconds(500);
  const JobId job = Start("absorbed", two_);
  ExpectSettled(job);
  Host().Grant(job, Place::Whole(one_, {1, 1}));
  ExpectSettled(job);
  EXPECT_EQ(UnionOfBindings(OnlyChild(), false), one_);
}

// Nothing is gained by it: what is to be left is not, however often it is asked for something else.
TEST_F(ProcessHostTest, LaterGrantsDoNotPutOffADeadline) {
  if (machine_.Count() < 2) GTEST_SKIP() << "needs two cores to take one away";
  options_.timeouts.revocation = milliseconds(300);
  const JobId job = Start("deaf", two_);
  ExpectSettled(job);
  // Asked more often than its time lasts, as long as it is there.
  std::optional<HostEvent> end;
  for (int i = 0; i < 400 && !end; ++i) {
    Host().Grant(job, Place::Whole(one_, {1, 1}));
    end = Next(milliseconds(50));
  }
  ASSERT_TRUE(end && std::holds_alternative<HostFailed>(*end));
  EXPECT_NE(std::get<HostFailed>(*end).reason.find("did not leave cores"), std::string::npos);
}

// A policy that takes its cores and gives them back, sooner than the tenant would have to leave them,
// or to follow.
TEST_F(ProcessHostTest, GrantsThatAreTakenBackDoNotPutOffADeadline) {
  options_.timeouts.revocation = seconds(60);
  options_.timeouts.settle = seconds(1);
  const JobId job = Start("deaf", one_);
  ExpectSettled(job);
  std::optional<HostEvent> end;
  for (int i = 0; i < 100 && !end; ++i) {
    i % 2 == 0 ? Host().Pause(job) : Host().Grant(job, Place::Whole(one_, {1, 1}));
    end = Next(milliseconds(100));
  }
  ASSERT_TRUE(end && std::holds_alternative<HostFailed>(*end));
  EXPECT_EQ(std::get<HostFailed>(*end).reason, "did not follow its grant within 1000 ms");
}

// It answers each, but never the latest.
TEST_F(ProcessHostTest, ATenantThatFollowsLateIsNotGivenUp) {
  options_.timeouts.revocation = seconds(60);
  options_.timeouts.settle = seconds(2);
  const JobId job = Start("slow", one_);
  ExpectSettled(job);
  for (int i = 0; i < 40; ++i) {
    i % 2 == 0 ? Host().Pause(job) : Host().Grant(job, Place::Whole(one_, {1, 1}));
    // On a loaded machine it may catch up.
    const std::optional<HostEvent> event = Next(milliseconds(100));
    ASSERT_FALSE(event && std::holds_alternative<HostFailed>(*event)) << i;
  }
}

TEST_F(ProcessHostTest, TenantThatIsNotUpYetLeavesItsCoresToo) {
  if (machine_.Count() < 2) GTEST_SKIP() << "needs two cores to take one away";
  const JobId job = Start("silent", two_);
  Host().Pause(job);
  ExpectSettled(job);
  EXPECT_EQ(OnlySample().runnable_threads, 0);
  EXPECT_FALSE(Next(milliseconds(50)));
  Host().Grant(job, Place::Whole(one_, {1, 1}));
  EXPECT_EQ(UnionOfBindings(OnlyChild(), false), one_);
  EXPECT_FALSE(Next(milliseconds(50)));  // That it has cores says nothing of its being ready.
  Host().Grant(job, Place::Whole(two_, {1, 2}));
  Host().Grant(job, Place::Whole(two_ - one_, {1, 1}));
  ExpectSettled(job);
  EXPECT_EQ(UnionOfBindings(OnlyChild(), false), two_ - one_);
}

// The tenant follows its first grant once more before it hears of the next one: the cores are not
// somebody else's before it has.
TEST_F(ProcessHostTest, TenantThatIsBuildingHasLeftWhenItHasHeardSo) {
  if (machine_.Count() < 2) GTEST_SKIP() << "needs two cores to take one away";
  options_.timeouts.revocation = seconds(10);
  const JobId job = Start("builder", two_);
  for (int i = 0; i < 2000 && ProcessesNamed(testing::NameUnder("builds", getpid())).empty(); ++i)
    EXPECT_FALSE(Next(milliseconds(10)));
  EXPECT_FALSE(Next(milliseconds(50)));  // It has said hello.
  Host().Grant(job, Place::Whole(one_, {1, 1}));
  ExpectSettled(job);
  const pid_t tenant = OnlyChild();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(UnionOfBindings(tenant, false), one_);
    EXPECT_FALSE(Next(milliseconds(2)));
  }
}

TEST_F(ProcessHostTest, FloodsAreCutOff) {
  const JobId job = Start("flooding", one_);
  ExpectSettled(job);
  EXPECT_EQ(Failure(job), "floods its control socket");
}

TEST_F(ProcessHostTest, NonsenseInTheSharedPageIsNotRecorded) {
  const JobId job = Start("scribbling", one_);
  ExpectSettled(job);
  EXPECT_EQ(Failure(job), "wrote nonsense into its counters");
  for (const StepSample& step : Host().TakeSteps()) EXPECT_GE(step.step, 0);
  for (const TenantSample& sample : Host().Sample()) EXPECT_GE(sample.steps, 0);
}

TEST_F(ProcessHostTest, ComputingWithoutProgressIsMarked) {
  options_.timeouts.heartbeat = milliseconds(300);
  const JobId job = Start("idler", one_);
  ExpectSettled(job);
  EXPECT_FALSE(Next(milliseconds(1200)));
  EXPECT_TRUE(Host().TakeMarks().empty());  // When it has gone.
  Host().Stop(job);
  const std::vector<std::string> marks = Host().TakeMarks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks.front(), "job 1 ended no step within 300 ms, though it computed");
  EXPECT_TRUE(Host().TakeMarks().empty());
}

// A child of its own session, whose parent is gone, is found and killed with its tenant.
TEST_F(ProcessHostTest, WhatATenantForkedIsKilledWithIt) {
  const JobId job = Start("breeding", one_);
  ExpectSettled(job);
  std::vector<pid_t> strays;
  for (int i = 0; i < 400 && strays.empty(); ++i) {
    EXPECT_FALSE(Next(milliseconds(5)));
    strays = ProcessesNamed(testing::NameUnder("stray", getpid()));
  }
  ASSERT_EQ(strays.size(), 1u);
  Host().Stop(job);
  EXPECT_TRUE(ProcessesNamed(testing::NameUnder("stray", getpid())).empty());
}

TEST_F(ProcessHostTest, TenantThatOnlySaysItPausedIsGivenUp) {
  options_.timeouts.revocation = milliseconds(300);
  const JobId job = Start("liar", one_);
  ExpectSettled(job);
  Host().Pause(job);
  EXPECT_EQ(Failure(job), "did not leave cores " + one_.ToString() + " within 300 ms");
}

TEST_F(ProcessHostTest, TenantThatLeavesItsGrantIsKilled) {
  if (machine_.Count() < 2) GTEST_SKIP() << "needs a core outside the grant";
  const JobId job = Start("restless", one_);
  ExpectSettled(job);
  EXPECT_NE(Failure(job).find("thread on cores " + machine_.ToString() + ", outside its grant of " +
                              one_.ToString()),
            std::string::npos);
}

TEST_F(ProcessHostTest, BadMessagesFailTheirTenantOnly) {
  const JobId bystander = Start("obedient", one_);
  ExpectSettled(bystander);
  const struct {
    const char *behaviour, *reason;
  } cases[] = {
      {"garbage", "sent a message that can't be read: not a JSON object"},
      {"newer", "sent a message that can't be read: protocol version 2, this side speaks 1"},
      {"oversized", "sent an oversized message"},
      {"rude", "did not say hello first"},
      {"complaint", "no such model"},
      {"crash", "exited with status 3"}};
  for (const auto& [behaviour, reason] : cases) {
    const JobId job = Start(behaviour, one_);
    const std::optional<HostEvent> event = Next();
    ASSERT_TRUE(event && std::holds_alternative<HostFailed>(*event)) << behaviour;
    EXPECT_EQ(std::get<HostFailed>(*event).job, job);
    EXPECT_EQ(std::get<HostFailed>(*event).reason, reason);
  }
  Host().Sample();  // The last of those that are gone.
  EXPECT_EQ(OnlySample().job, bystander);
}

TEST_F(ProcessHostTest, ImpostorIsRefused) {
  EXPECT_EQ(FailureOf("impostor"), "said hello for job 2");
}

TEST_F(ProcessHostTest, ClaimsOfTooFewStepsAreNoEnd) {
  const JobId job = Start("early", one_, 50);
  std::optional<HostEvent> event = Next();
  if (event && std::holds_alternative<HostSettled>(*event)) event = Next();
  ASSERT_TRUE(event && std::holds_alternative<HostFailed>(*event));
  EXPECT_EQ(std::get<HostFailed>(*event).job, job);
  EXPECT_EQ(std::get<HostFailed>(*event).reason, "finished after 1 of 50 steps");
}

}  // namespace
}  // namespace cosched
