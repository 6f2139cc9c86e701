// Grants of less than a core: where they go, what they must not exceed, and that nobody is told to
// grow before the shrinks that pay for it have settled. FakeHost keeps count by itself.

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "tests/policies/arbiter_fixture.h"

namespace cosched {
namespace {

Run ShareOf(int64_t milli) { return Cores(Share{{milli}}); }

class ArbiterSharesTest : public ArbiterTest {};

TEST_F(ArbiterSharesTest, SharersRunOnAllOfTheNodeWithAsManyThreadsAsCanUseTheirs) {
  SubmitWaiting(1);
  SubmitWaiting(2);
  Decide({{{1}, ShareOf(700)}, {{2}, ShareOf(1300)}});
  EXPECT_EQ(TakeLog(), "start 1 0-3 1x1 share 700; start 2 0-3 1x2 share 1300");
  machine_.SettleAll();
  const JobView& job = *machine_.arbiter.View().Find({2});
  EXPECT_TRUE(job.Shares());
  EXPECT_EQ(job.amount, CpuShare{1300});
  EXPECT_NE(machine_.observer.Take("tick").find("1=0.7@0 2=1.3@0"), std::string::npos);
}

TEST_F(ArbiterSharesTest, AShareGrowsOnceTheShrinksThatPayForItHaveSettled) {
  SubmitWaiting(1);
  SubmitWaiting(2);
  Decide({{{1}, ShareOf(3900)}, {{2}, ShareOf(100)}});
  machine_.SettleAll();
  TakeLog();
  Decide({{{1}, ShareOf(100)}, {{2}, ShareOf(3900)}});
  EXPECT_EQ(TakeLog(), "grant 1 0-3 1x1 share 100");
  machine_.Settle(1);
  EXPECT_EQ(TakeLog(), "grant 2 0-3 1x4 share 3900");
  machine_.Settle(2);
  EXPECT_FALSE(machine_.arbiter.InTransition());
}

TEST_F(ArbiterSharesTest, AShareThatEndsMakesRoomForThoseThatWait) {
  SubmitWaiting(1);
  SubmitWaiting(2);
  Decide({{{1}, ShareOf(2000)}, {{2}, ShareOf(2000)}});
  machine_.SettleAll();
  TakeLog();
  Decide({{{1}, Pause{}}, {{2}, ShareOf(4000)}});
  EXPECT_EQ(TakeLog(), "pause 1");
  machine_.Finish(1);  // It ends before it has parked.
  EXPECT_EQ(TakeLog(), "grant 2 0-3 1x4");
  machine_.SettleAll();
}

TEST_F(ArbiterSharesTest, SharersAndOwnersOfANodeTakeTurns) {
  SubmitRunning(1, {0, 1});
  SubmitRunning(2, {2, 3});
  Decide({{{1}, ShareOf(1000)}, {{2}, ShareOf(1000)}});
  machine_.SettleAll();
  EXPECT_EQ(machine_.host.jobs.at({1}).asked, (Place{{0, 1, 2, 3}, {1000}, {1, 1}}));
  EXPECT_EQ(machine_.host.jobs.at({2}).asked, (Place{{0, 1, 2, 3}, {1000}, {1, 1}}));
  Decide({{{1}, Cores(2)}, {{2}, Cores(2)}});
  machine_.SettleAll();
  EXPECT_TRUE(machine_.host.jobs.at({1}).asked.Owns());
  EXPECT_TRUE(machine_.host.jobs.at({2}).asked.Owns());
}

TEST_F(ArbiterSharesTest, WhatBreaksTheContract) {
  SubmitRunning(1, {0, 1});
  SubmitWaiting(2);
  SubmitWaiting(3);
  ExpectViolation({{{2}, ShareOf(0)}}, "job 2: a share of 0 cores is none");
  ExpectViolation({{{2}, ShareOf(4001)}}, "job 2: a share of 4.001 cores is more than its max 4");
  ExpectViolation({{{2}, ShareOf(500)}}, "node 0 is shared, and jobs own its cores 0-1");
  ExpectViolation({{{1}, Pause{}}, {{2}, ShareOf(3000)}, {{3}, ShareOf(1001)}},
                  "the shares of node 0 add up to 4.001 cores, it has 4");
  Decide({{{1}, ShareOf(3000)}});
  machine_.SettleAll();
  TakeLog();
  ExpectViolation({{{2}, Cores(1)}}, "the grants add up to 5 cores, the machine has 4");
  ExpectViolation({{{2}, ShareOf(1500)}}, "the shares of node 0 add up to 4.5 cores, it has 4");
}

class NodesTest : public ::testing::Test {
 protected:
  ScriptedPolicy& policy() { return static_cast<ScriptedPolicy&>(*machine_.policy); }
  void Submit(int64_t id, std::optional<int> node) {
    Job job = MakeJob(id, {1, 1, 2});
    job.node = node;
    machine_.Submit(job);
  }
  std::string Decide(std::map<JobId, JobDecision> jobs) {
    policy().next.jobs = std::move(jobs);
    machine_.arbiter.Tick();
    return machine_.host.TakeLog();
  }

  ScheduledMachine machine_{
      kFourCores, std::make_unique<ScriptedPolicy>(), false, true, {{0, 1}, {2, 3}}};
};

TEST_F(NodesTest, SharesGoToTheJobsNodeOrToTheOneWithMostRoom) {
  Submit(1, 1);
  Submit(2, std::nullopt);
  Submit(3, std::nullopt);
  EXPECT_EQ(Decide({{{1}, ShareOf(300)}, {{2}, ShareOf(500)}, {{3}, ShareOf(400)}}),
            "start 1 2-3 1x1 share 300; start 2 0-1 1x1 share 500; start 3 2-3 1x1 share 400");
  machine_.SettleAll();
  // One that shares a node stays there.
  EXPECT_EQ(Decide({{{3}, ShareOf(1600)}}), "grant 3 2-3 1x2 share 1600");
  EXPECT_THROW(Decide({{{3}, ShareOf(1701)}}), PolicyError);
}

TEST_F(NodesTest, AShareMayNameItsNode) {
  Submit(1, 0);
  Submit(2, std::nullopt);
  const auto there = [](int64_t milli, int node) { return Cores(Share{{milli}, node}); };
  EXPECT_EQ(Decide({{{1}, there(100, 0)}, {{2}, there(900, 0)}}),
            "start 1 0-1 1x1 share 100; start 2 0-1 1x1 share 900")
      << "though the other node has more room";
  machine_.SettleAll();
  EXPECT_EQ(Decide({{{2}, there(800, 0)}}), "grant 2 0-1 1x1 share 800");
  EXPECT_THROW(Decide({{{2}, there(800, 1)}}), PolicyError) << "it does not move while it runs";
  EXPECT_THROW(Decide({{{1}, there(100, 1)}}), PolicyError) << "it is bound";
  EXPECT_THROW(Decide({{{2}, there(100, 2)}}), PolicyError) << "there is no such node";
}

// Its pause need not have settled: the share waits until the job has left its node.
TEST_F(NodesTest, AShareMovesToAnotherNodeOnceItsPauseHasSettled) {
  const auto there = [](int64_t milli, int node) { return Cores(Share{{milli}, node}); };
  for (const bool oversubscribes : {false, true}) {
    ScheduledMachine machine(kFourCores, std::make_unique<ScriptedPolicy>(), oversubscribes, true,
                             {{0, 1}, {2, 3}});
    const auto decide = [&machine](const JobDecision& decision) {
      static_cast<ScriptedPolicy&>(*machine.policy).next.jobs = {{JobId{1}, decision}};
      machine.arbiter.Tick();
      return machine.host.TakeLog();
    };
    machine.Submit(MakeJob(1, {1, 1, 2}));
    EXPECT_EQ(decide(there(800, 0)), "start 1 0-1 1x1 share 800");
    machine.SettleAll();
    EXPECT_EQ(decide(Pause{}), "pause 1");
    EXPECT_EQ(decide(there(800, 1)), "");
    machine.Settle(1);
    EXPECT_EQ(machine.host.TakeLog(), "grant 1 2-3 1x1 share 800");
    machine.SettleAll();
    EXPECT_FALSE(machine.arbiter.InTransition());
    // From there to cores of its own, and to a share elsewhere before these have settled.
    EXPECT_EQ(decide(Cores(CpuSet{2, 3})), "grant 1 2-3 1x2");
    EXPECT_EQ(decide(there(500, 0)), "pause 1");
    machine.Settle(1);
    EXPECT_EQ(machine.host.TakeLog(), "grant 1 0-1 1x1 share 500");
    machine.SettleAll();
    EXPECT_FALSE(machine.arbiter.InTransition());
  }
}

// Also for who may give more than there is: a tenant can't use it.
TEST_F(NodesTest, AShareIsNotMoreThanItsNodeHas) {
  for (const bool oversubscribes : {false, true}) {
    ScheduledMachine machine(kFourCores, std::make_unique<ScriptedPolicy>(), oversubscribes, true,
                             {{0, 1}, {2, 3}});
    machine.Submit(MakeJob(1, {1, 1, 4}));
    static_cast<ScriptedPolicy&>(*machine.policy).next.jobs = {{JobId{1}, ShareOf(2001)}};
    EXPECT_THROW(machine.arbiter.Tick(), PolicyError) << oversubscribes;
  }
}

TEST_F(NodesTest, CountsOfABoundJobAreWithinItsNodeWhateverOthersHold) {
  Submit(1, std::nullopt);
  Submit(2, 0);
  EXPECT_EQ(Decide({{{1}, Cores(2)}, {{2}, Cores(2)}}), "start 1 2-3 1x2; start 2 0-1 1x2");
  machine_.SettleAll();
  Submit(3, 0);
  EXPECT_THROW(Decide({{{1}, Cores(1)}, {{3}, Cores(1)}}), PolicyError);
  EXPECT_THROW(Decide({{{3}, Cores(CpuSet{2})}}), PolicyError);
}

TEST_F(NodesTest, AJobThatIsTooLargeForItsNodeIsRejected) {
  Job job = MakeJob(1, {3, 3, 3});
  job.node = 0;
  machine_.Submit(job);
  EXPECT_NE(machine_.observer.Take("rejected").find("needs at least 3 cores, its node has 2"),
            std::string::npos);
}

// Each time, every node is either shared or owned, at random, and so are the amounts.
class RandomSharer final : public Policy {
 public:
  explicit RandomSharer(uint64_t seed) : random_(seed) {}

  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    if (random_.Below(4) == 0) return allocation;
    for (int node = 0; node < static_cast<int>(view.nodes.size()); ++node) {
      const bool shared = random_.Below(2) == 0;
      int64_t left = shared ? 2000 : 2;
      for (const JobView& job : view.jobs) {
        if (job.node != node) continue;
        const auto want = static_cast<int64_t>(random_.Below(shared ? 1500 : 3));
        const int64_t get = std::min(left, want);
        left -= get;
        if (get == 0) {
          if (job.IsActive()) allocation.jobs[job.id] = Pause{};
        } else {
          allocation.jobs[job.id] = shared ? ShareOf(get) : Cores(static_cast<int>(get));
        }
      }
    }
    return allocation;
  }

 private:
  Random random_;
};

TEST(ArbiterSharesStress, NodesAreNeverOverbookedWhateverTheOrderOfAnswers) {
  for (uint64_t seed = 0; seed < 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ScheduledMachine machine(kFourCores, std::make_unique<RandomSharer>(seed), false, true,
                             {{0, 1}, {2, 3}});
    int64_t submitted = 0;
    for (int step = 0; step < 150; ++step) {
      std::vector<int64_t> alive, in_flight;
      for (const auto& [id, tenant] : machine.host.jobs) {
        alive.push_back(id.value);
        if (tenant.in_flight) in_flight.push_back(id.value);
      }
      const uint64_t what = random.Below(10);
      if (what == 0 && submitted < 8) {
        Job job = MakeJob(++submitted, {1, 2, 2});
        job.node = static_cast<int>(submitted % 2);
        machine.Submit(job);
      } else if (what == 1 && !alive.empty()) {
        machine.Finish(alive[random.Below(alive.size())]);
      } else if (what == 2) {
        machine.arbiter.Tick();
      } else if (!in_flight.empty()) {
        machine.Settle(in_flight[random.Below(in_flight.size())]);
      } else {
        // With no answer to come, nobody waits for anything.
        ASSERT_FALSE(machine.arbiter.InTransition());
      }
    }
    machine.arbiter.EndAll(JobEnd::kCancelled, "");
    EXPECT_EQ(machine.observer.ends.size(), static_cast<size_t>(submitted));
  }
}

}  // namespace
}  // namespace cosched
