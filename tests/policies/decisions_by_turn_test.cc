// These events, exactly these allocations, for the policies that go by time and by measurement:
// turns, loans, feedback. One case for each rule that a policy's head comment states.

#include <gtest/gtest.h>

#include "tests/policies/policy_machine.h"

namespace cosched {
namespace {

std::string Tick(ScheduledMachine& machine, double seconds = 0.5) {
  machine.SettleAll();
  machine.Pass(seconds);
  machine.arbiter.Tick();
  return machine.Counts();
}

// --- round-robin

TEST(RoundRobin, TicksComeEveryQuantum) {
  const auto period = [](const PolicyParameters& parameters) {
    return MakePolicy(*FindPolicy("round-robin"), parameters)->TickPeriod();
  };
  EXPECT_EQ(period({}), std::chrono::milliseconds(500));
  EXPECT_EQ(period({{"quantum_ms", "1.5"}}), std::chrono::microseconds(1500));
}

TEST(RoundRobin, JobsTakeTurns) {
  auto machine = MakeMachine(kFourCores, "round-robin");
  for (int id = 1; id <= 3; ++id) machine->Submit(id, Exactly(2));
  EXPECT_EQ(machine->Counts(), "1=2 2=2 3=wait");
  EXPECT_EQ(Tick(*machine), "1=2 2=2 3=wait") << "they came in the middle of a quantum";
  EXPECT_EQ(Tick(*machine), "1=2 2=pause 3=2");
  EXPECT_EQ(Tick(*machine), "1=pause 2=2 3=2") << "3 had a whole quantum, 1 two: both went back";
  EXPECT_EQ(Tick(*machine), "1=2 2=2 3=pause");
}

TEST(RoundRobin, NobodyIsPausedInTheMiddleOfItsTurn) {
  auto machine = MakeMachine(kFourCores, "round-robin");
  machine->Submit(1, Exactly(2));
  machine->Submit(2, Exactly(3));
  machine->Submit(3, Exactly(2));
  EXPECT_EQ(machine->Counts(), "1=2 2=wait 3=2");
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=wait 3=2");
  Tick(*machine);
  EXPECT_EQ(Tick(*machine), "2=3 3=pause");
}

TEST(RoundRobin, ALoneJobKeepsItsCoresWhateverTheClockSays) {
  auto machine = MakeMachine(kFourCores, "round-robin");
  machine->Submit(1, Exactly(4));
  machine->SettleAll();
  machine->host.TakeLog();
  for (int turn = 0; turn < 3; ++turn) Tick(*machine);
  EXPECT_EQ(machine->host.TakeLog(), "");
}

TEST(RoundRobin, AlwaysAttendGivesWhatIsLeftAndGrowsItLater) {
  auto machine = MakeMachine(kFourCores, "round-robin", {{"assignment", "always-attend"}});
  machine->Submit(1, UpTo(3, 4));
  machine->Submit(2, UpTo(3, 4));
  machine->Submit(3, {2, 2, 4});
  EXPECT_EQ(machine->Counts(), "1=3 2=1 3=wait");
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->Counts(), "2=3 3=wait");
}

// --- gang

TEST(Gang, RowsTakeTurnsAndJobsKeepTheirPlaces) {
  auto machine = MakeMachine(kFourCores, "gang");
  machine->Submit(1, Exactly(3));
  machine->Submit(2, Exactly(2));
  machine->Submit(3, Exactly(2));
  EXPECT_EQ(machine->State(), "1=0-2 2=wait 3=wait");
  Tick(*machine);
  EXPECT_EQ(machine->State(), "1=pause 2=0-1 3=2-3");
  Tick(*machine);
  EXPECT_EQ(machine->State(), "1=0-2 2=pause 3=pause");
  Tick(*machine);
  EXPECT_EQ(machine->State(), "1=pause 2=0-1 3=2-3");
}

TEST(Gang, ANewcomerTakesTheFirstRowWithRoom) {
  auto machine = MakeMachine(kFourCores, "gang");
  machine->Submit(1, Exactly(3));
  machine->Submit(2, Exactly(3));
  machine->Submit(3, Exactly(1));
  EXPECT_EQ(machine->State(), "1=0-2 2=wait 3=3");
}

TEST(Gang, AJobOfAnotherRowRunsWhereTheActiveRowIsIdle) {
  auto machine = MakeMachine(kFourCores, "gang");
  machine->Submit(1, Exactly(2));
  machine->Submit(2, Exactly(2));  // 2-3
  machine->Submit(3, Exactly(4));
  machine->Submit(4, Exactly(1));  // A third row: core 0.
  Tick(*machine);
  Tick(*machine);
  EXPECT_EQ(machine->State(), "1=pause 2=2-3 3=pause 4=0");
}

TEST(Gang, TheNextRowRunsWhenTheActiveOneEnds) {
  auto machine = MakeMachine(kFourCores, "gang");
  machine->Submit(1, Exactly(4));
  machine->Submit(2, Exactly(4));
  machine->SettleAll();
  machine->Finish(1);
  EXPECT_EQ(machine->State(), "2=0-3");
}

TEST(Gang, RigidAndMoldableJobsAlike) {
  auto machine = MakeMachine(kFourCores, "gang");
  machine->Submit(MakeJob(1, UpTo(4, 4), Elasticity::kRigid));
  machine->Submit(MakeJob(2, UpTo(4, 4), Elasticity::kMoldable));
  Tick(*machine);
  EXPECT_EQ(machine->State(), "1=pause 2=0-3");
  Tick(*machine);
  EXPECT_EQ(machine->State(), "1=0-3 2=pause");
}

// --- lend-reclaim

TEST(LendReclaim, IdleCoresAreLentInEqualNumbersAndTakenBack) {
  auto machine = MakeMachine(kSixteenCores, "lend-reclaim");
  machine->Submit(1, UpTo(4, 16));
  EXPECT_EQ(machine->Counts(), "1=16");
  machine->SettleAll();
  machine->Submit(2, UpTo(6, 16));
  EXPECT_EQ(machine->Counts(), "1=7 2=9") << "6 are nobody's: 3 each";
  machine->SettleAll();
  machine->Submit(3, UpTo(6, 16));
  EXPECT_EQ(machine->Counts(), "1=4 2=6 3=6");
  machine->SettleAll();
  machine->Submit(4, UpTo(1, 1));
  EXPECT_EQ(machine->Counts(), "1=4 2=6 3=6 4=wait") << "nobody has fewer than it owns";
  machine->Finish(2);
  EXPECT_EQ(machine->Counts(), "1=7 3=8 4=1");
}

TEST(LendReclaim, ReclaimedCoresPassOnWhenTheBorrowerHasLeft) {
  auto machine = MakeMachine(kFourCores, "lend-reclaim");
  machine->Submit(1, UpTo(2, 4));
  machine->SettleAll();
  machine->host.TakeLog();
  machine->Submit(2, UpTo(2, 4));
  EXPECT_EQ(machine->host.TakeLog(), "grant 1 0-1 1x2");
  machine->Settle(1);
  EXPECT_EQ(machine->host.TakeLog(), "start 2 2-3 1x2");
}

TEST(LendReclaim, RigidAndMoldableJobsDoNotBorrow) {
  auto machine = MakeMachine(kFourCores, "lend-reclaim");
  machine->Submit(MakeJob(1, UpTo(1, 4), Elasticity::kRigid));
  machine->Submit(MakeJob(2, UpTo(1, 4), Elasticity::kMoldable));
  EXPECT_EQ(machine->Counts(), "1=1 2=1");
  machine->Submit(3, UpTo(1, 4));
  EXPECT_EQ(machine->Counts(), "1=1 2=1 3=2");
}

TEST(LendReclaim, AJobWaitsUntilItCanOwnAllThatItAsksForAndASmallerOneMayPass) {
  auto machine = MakeMachine(kFourCores, "lend-reclaim");
  machine->Submit(1, UpTo(2, 4));
  machine->Submit(2, UpTo(3, 4));
  machine->Submit(3, UpTo(1, 1));
  EXPECT_EQ(machine->Counts(), "1=3 2=wait 3=1");
}

// --- feedback

// Half a second later the job has done so many of its 1000 steps more.
std::string TickAfter(ScheduledMachine& machine, double steps) {
  machine.SettleAll();
  machine.host.progress.try_emplace({1}, 0).first->second += steps / 1000;
  return Tick(machine);
}

Job Counted(int64_t id, CoreRequest request, Elasticity elasticity = Elasticity::kMalleable) {
  Job job = MakeJob(id, request, elasticity);
  job.steps = 1000;
  return job;
}

std::unique_ptr<ScheduledMachine> StartedOnMin(const PolicyParameters& parameters = {}) {
  auto machine = MakeMachine(kSixteenCores, "feedback", parameters);
  machine->host.progress[{1}] = 0;
  machine->Submit(Counted(1, UpTo(4, 4)));
  EXPECT_EQ(machine->Counts(), "1=1");
  machine->SettleAll();
  return machine;
}

TEST(Feedback, AJobGrowsWhileItsMeasuredEfficiencyIsAboveTheTarget) {
  auto machine = StartedOnMin();
  EXPECT_EQ(TickAfter(*machine, 10), "1=2");  // The reference.
  EXPECT_EQ(TickAfter(*machine, 18), "1=3");  // 0.9
  EXPECT_EQ(TickAfter(*machine, 24), "1=4");  // 0.8
  EXPECT_EQ(TickAfter(*machine, 27), "1=3");  // 0.68: one fewer, and that is it
  EXPECT_EQ(TickAfter(*machine, 24), "1=3");
  EXPECT_EQ(TickAfter(*machine, 24), "1=3");
  EXPECT_EQ(TickAfter(*machine, 15), "1=2") << "0.5: something has changed";
}

TEST(Feedback, AnEndLetsTheOthersTryAgain) {
  auto machine = StartedOnMin();
  machine->Submit(Counted(2, Exactly(1)));
  TickAfter(*machine, 10);
  EXPECT_EQ(TickAfter(*machine, 12), "1=1 2=1");
  EXPECT_EQ(TickAfter(*machine, 10), "1=1 2=1");
  machine->Finish(2);
  EXPECT_EQ(TickAfter(*machine, 10), "1=2");
}

TEST(Feedback, TooFewStepsAreNoMeasurement) {
  auto machine = StartedOnMin();
  EXPECT_EQ(TickAfter(*machine, 3), "1=1");
  EXPECT_EQ(TickAfter(*machine, 3), "1=2") << "six in all, over both periods";
}

TEST(Feedback, TargetStepAndPeriodAreParameters) {
  auto machine = StartedOnMin({{"target", "0.95"}, {"step", "3"}, {"period_ms", "20"}});
  EXPECT_EQ(machine->policy->TickPeriod(), std::chrono::milliseconds(20));
  EXPECT_EQ(TickAfter(*machine, 10), "1=4");
  EXPECT_EQ(TickAfter(*machine, 37), "1=1");  // 0.93
}

TEST(Feedback, NobodyGrowsWhileAJobWaits) {
  auto machine = StartedOnMin();
  machine->Submit(Counted(2, Exactly(16)));
  EXPECT_EQ(machine->Counts(), "1=1 2=wait");
  EXPECT_EQ(TickAfter(*machine, 10), "1=1 2=wait");
}

TEST(Feedback, RigidJobsWaitForAllMoldableOnesTakeWhatIsFreeAndBothAreLeftAlone) {
  auto machine = MakeMachine(kFourCores, "feedback");
  machine->Submit(Counted(1, UpTo(3, 4), Elasticity::kRigid));
  machine->Submit(Counted(2, UpTo(2, 4), Elasticity::kRigid));
  machine->Submit(Counted(3, UpTo(2, 4), Elasticity::kMoldable));
  EXPECT_EQ(machine->Counts(), "1=3 2=wait 3=1");
  EXPECT_EQ(TickAfter(*machine, 10), "1=3 2=wait 3=1");
}

}  // namespace
}  // namespace cosched
