// The policies that play a timetable: of cores, and of shares of them.

#include <gtest/gtest.h>

#include <string>

#include "engine/base/error.h"
#include "policies/registry.h"
#include "tests/policies/policy_machine.h"

namespace cosched {
namespace {

TEST(Scripted, EveryJobGetsWhatTheTimetableSaysSinceItsOwnStart) {
  auto machine = MakeMachine(kFourCores, "scripted", {{"timetable", "0:1 10:3 20:2"}});
  const auto pass = [&machine](double seconds) {
    machine->Pass(seconds);
    machine->arbiter.Tick();
    machine->SettleAll();
    return machine->State();
  };
  machine->Submit(1, UpTo(4, 4));
  EXPECT_EQ(machine->State(), "1=0");
  machine->SettleAll();
  EXPECT_EQ(pass(4), "1=0");
  machine->Submit(2, UpTo(4, 4));
  EXPECT_EQ(pass(5.9), "1=0 2=1");
  EXPECT_EQ(pass(0.1), "1=0,2-3 2=1");
  EXPECT_EQ(pass(4), "1=0,2-3 2=1");  // 2 wants three and none is free.
  EXPECT_EQ(pass(6), "1=0,2 2=1,3");  // 1 left one, which 2 takes.
  EXPECT_EQ(pass(4), "1=0,2 2=1,3");
}

TEST(Scripted, SplitsAreAsWrittenAndAllIsWhatTheJobMayHave) {
  auto machine = MakeMachine(kFourCores, "scripted",
                             {{"timetable", "0:all:allx1  1:all:1xall 2:2:2x2 3:all"}});
  const auto pass = [&machine](double seconds) {
    machine->SettleAll();
    machine->host.TakeLog();
    machine->Pass(seconds);
    machine->arbiter.Tick();
    return machine->host.TakeLog();
  };
  machine->Submit(1, UpTo(1, 3));
  EXPECT_EQ(machine->host.TakeLog(), "start 1 0-2 3x1");
  EXPECT_EQ(pass(1), "grant 1 0-2 1x3");
  EXPECT_EQ(pass(0.5), "");
  EXPECT_EQ(pass(0.5), "grant 1 0-1 2x2");
  EXPECT_EQ(pass(1), "grant 1 0-2 1x3");
}

TEST(Scripted, NoCoresPausesAndJobsWaitUntilTheirFirstEntryFits) {
  auto machine = MakeMachine(kFourCores, "scripted", {{"timetable", "0:3 1:0 2:3"}});
  const auto pass = [&machine](double seconds) {
    machine->Pass(seconds);
    machine->arbiter.Tick();
    machine->SettleAll();
    return machine->State();
  };
  machine->Submit(1, UpTo(4, 4));
  machine->Submit(2, UpTo(4, 4));
  EXPECT_EQ(machine->State(), "1=0-2 2=wait");
  EXPECT_EQ(pass(1), "1=pause 2=0-2");
  EXPECT_EQ(pass(1), "1=0-2 2=pause");
}

TEST(Scripted, CountsStayWithinMinAndMax) {
  auto machine = MakeMachine(kFourCores, "scripted", {{"timetable", "0:1 1:4"}});
  machine->Submit(1, {2, 2, 3});
  EXPECT_EQ(machine->Counts(), "1=2");
  machine->SettleAll();
  machine->Pass(1);
  machine->arbiter.Tick();
  EXPECT_EQ(machine->Counts(), "1=3");
}

TEST(Scripted, AListIsMetOnceAllOfItIsFree) {
  auto machine = MakeMachine(kFourCores, "scripted", {{"timetable", "0:[1] 1:[2-3] 2:[0]"}});
  const auto pass = [&machine](double seconds) {
    machine->Pass(seconds);
    machine->arbiter.Tick();
    machine->SettleAll();
    machine->arbiter.Tick();
    machine->SettleAll();
    return machine->State();
  };
  machine->Submit(1, UpTo(1, 2));
  machine->Submit(2, UpTo(1, 2));
  machine->SettleAll();
  EXPECT_EQ(machine->State(), "1=1 2=wait");
  EXPECT_EQ(pass(1), "1=2-3 2=1");
  EXPECT_EQ(pass(1), "1=0 2=2-3");
  EXPECT_EQ(pass(1), "1=0 2=2-3");  // Core 0 is the first one's.
}

TEST(Scripted, RigidJobKeepsItsOwnThreads) {
  auto machine = MakeMachine(kFourCores, "scripted", {{"timetable", "0:2 1:1"}});
  Job job = MakeJob(1, UpTo(4, 4), Elasticity::kRigid);
  job.threads = Split{2, 8};
  machine->Submit(job);
  EXPECT_EQ(machine->host.TakeLog(), "start 1 0-1 2x8");
  machine->SettleAll();
  machine->Pass(1);
  machine->arbiter.Tick();
  EXPECT_EQ(machine->host.TakeLog(), "grant 1 0 2x8");
}

std::string SharesBySecond(const PolicyParameters& parameters, Elasticity elasticity) {
  auto machine = MakeMachine(kFourCores, "scripted-shares", parameters);
  machine->Submit(MakeJob(1, UpTo(4, 4), elasticity));
  for (int second = 1; second <= 3; ++second) {
    machine->SettleAll();
    machine->Pass(1);
    machine->arbiter.Tick();
  }
  return machine->host.TakeLog();
}

TEST(ScriptedShares, ThreadsFollowTheShareByTheRule) {
  const std::string timetable = "0:1.5 1:0.5 2:2";
  EXPECT_EQ(SharesBySecond({{"timetable", timetable}}, Elasticity::kMalleable),
            "start 1 0-3 1x2 share 1500; grant 1 0-3 1x1 share 500; grant 1 0-3 1x2 share 2000");
  EXPECT_EQ(
      SharesBySecond({{"timetable", timetable}, {"threads", "floor"}}, Elasticity::kMalleable),
      "start 1 0-3 1x1 share 1500; grant 1 0-3 1x1 share 500; grant 1 0-3 1x2 share 2000");
  EXPECT_EQ(SharesBySecond({{"timetable", timetable}}, Elasticity::kRigid),
            "start 1 0-3 1x4 share 1500; grant 1 0-3 1x4 share 500; grant 1 0-3 1x4 share 2000");
}

TEST(ScriptedShares, WhatIsNotFreeIsWaitedFor) {
  auto machine = MakeMachine(kFourCores, "scripted-shares", {{"timetable", "0:2.5 5:1.5"}});
  machine->Submit(1, UpTo(4, 4));
  machine->Submit(2, UpTo(4, 4));
  machine->SettleAll();
  EXPECT_EQ(machine->host.TakeLog(), "start 1 0-3 1x3 share 2500");
  machine->Pass(5);
  machine->arbiter.Tick();
  machine->SettleAll();
  EXPECT_EQ(machine->host.TakeLog(), "grant 1 0-3 1x2 share 1500; start 2 0-3 1x3 share 2500");
}

TEST(ScriptedShares, TellsWhatIsWrongWithATimetable) {
  const auto problem = [](const char* timetable) -> std::string {
    try {
      MakePolicy(*FindPolicy("scripted-shares"), {{"timetable", timetable}});
    } catch (const InputError& error) {
      EXPECT_EQ(error.details().key, "policy.scripted-shares.timetable");
      return error.details().problem;
    }
    return "";
  };
  EXPECT_EQ(problem(""), "\"\" has no entry");
  EXPECT_EQ(problem("1:1"), "\"1:1\" is the first and not at 0");
  EXPECT_EQ(problem("0:1 0:2"), "\"0:2\" is not after the last");
  EXPECT_EQ(problem("0:1 x:2"), "\"x:2\" has no time");
  for (const char* amount : {"0:0.05", "0:all", "0:5000", "0:1x", "0:nan", "0:"})
    EXPECT_EQ(problem(amount), "\"" + std::string(amount) + "\" has no number of cores");
}

}  // namespace
}  // namespace cosched
