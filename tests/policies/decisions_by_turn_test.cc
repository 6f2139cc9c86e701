// These events, exactly these allocations, for the policies that go by time and by measurement:
// turns, loans, feedback. One case for each rule that a policy's head comment states.

#include <gtest/gtest.h>

#include "tests/policies/policy_world.h"

namespace cosched {
namespace {

std::string Tick(World& world, double seconds = 0.5) {
  world.SettleAll();
  world.Pass(seconds);
  world.arbiter.Tick();
  return world.Counts();
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
  auto world = MakeWorld(kFourCores, "round-robin");
  for (int id = 1; id <= 3; ++id) world->Submit(id, Exactly(2));
  EXPECT_EQ(world->Counts(), "1=2 2=2 3=wait");
  EXPECT_EQ(Tick(*world), "1=2 2=2 3=wait") << "they came in the middle of a quantum";
  EXPECT_EQ(Tick(*world), "1=2 2=pause 3=2");
  EXPECT_EQ(Tick(*world), "1=pause 2=2 3=2") << "3 had a whole quantum, 1 two: both went back";
  EXPECT_EQ(Tick(*world), "1=2 2=2 3=pause");
}

TEST(RoundRobin, NobodyIsPausedInTheMiddleOfItsTurn) {
  auto world = MakeWorld(kFourCores, "round-robin");
  world->Submit(1, Exactly(2));
  world->Submit(2, Exactly(3));
  world->Submit(3, Exactly(2));
  EXPECT_EQ(world->Counts(), "1=2 2=wait 3=2");
  world->SettleAll();
  world->Finish(1);
  EXPECT_EQ(world->Counts(), "2=wait 3=2");
  Tick(*world);
  EXPECT_EQ(Tick(*world), "2=3 3=pause");
}

TEST(RoundRobin, ALoneJobKeepsItsCoresWhateverTheClockSays) {
  auto world = MakeWorld(kFourCores, "round-robin");
  world->Submit(1, Exactly(4));
  world->SettleAll();
  world->host.TakeLog();
  for (int turn = 0; turn < 3; ++turn) Tick(*world);
  EXPECT_EQ(world->host.TakeLog(), "");
}

TEST(RoundRobin, AlwaysAttendGivesWhatIsLeftAndGrowsItLater) {
  auto world = MakeWorld(kFourCores, "round-robin", {{"assignment", "always-attend"}});
  world->Submit(1, UpTo(3, 4));
  world->Submit(2, UpTo(3, 4));
  world->Submit(3, {2, 2, 4});
  EXPECT_EQ(world->Counts(), "1=3 2=1 3=wait");
  world->SettleAll();
  world->Finish(1);
  EXPECT_EQ(world->Counts(), "2=3 3=wait");
}

// --- gang

TEST(Gang, RowsTakeTurnsAndJobsKeepTheirPlaces) {
  auto world = MakeWorld(kFourCores, "gang");
  world->Submit(1, Exactly(3));
  world->Submit(2, Exactly(2));
  world->Submit(3, Exactly(2));
  EXPECT_EQ(world->State(), "1=0-2 2=wait 3=wait");
  Tick(*world);
  EXPECT_EQ(world->State(), "1=pause 2=0-1 3=2-3");
  Tick(*world);
  EXPECT_EQ(world->State(), "1=0-2 2=pause 3=pause");
  Tick(*world);
  EXPECT_EQ(world->State(), "1=pause 2=0-1 3=2-3");
}

TEST(Gang, ANewcomerTakesTheFirstRowWithRoom) {
  auto world = MakeWorld(kFourCores, "gang");
  world->Submit(1, Exactly(3));
  world->Submit(2, Exactly(3));
  world->Submit(3, Exactly(1));
  EXPECT_EQ(world->State(), "1=0-2 2=wait 3=3");
}

TEST(Gang, AJobOfAnotherRowRunsWhereTheActiveRowIsIdle) {
  auto world = MakeWorld(kFourCores, "gang");
  world->Submit(1, Exactly(2));
  world->Submit(2, Exactly(2));  // 2-3
  world->Submit(3, Exactly(4));
  world->Submit(4, Exactly(1));  // A third row: core 0.
  Tick(*world);
  Tick(*world);
  EXPECT_EQ(world->State(), "1=pause 2=2-3 3=pause 4=0");
}

TEST(Gang, TheNextRowRunsWhenTheActiveOneEnds) {
  auto world = MakeWorld(kFourCores, "gang");
  world->Submit(1, Exactly(4));
  world->Submit(2, Exactly(4));
  world->SettleAll();
  world->Finish(1);
  EXPECT_EQ(world->State(), "2=0-3");
}

TEST(Gang, RigidAndMoldableJobsAlike) {
  auto world = MakeWorld(kFourCores, "gang");
  world->Submit(MakeJob(1, UpTo(4, 4), Elasticity::kRigid));
  world->Submit(MakeJob(2, UpTo(4, 4), Elasticity::kMoldable));
  Tick(*world);
  EXPECT_EQ(world->State(), "1=pause 2=0-3");
  Tick(*world);
  EXPECT_EQ(world->State(), "1=0-3 2=pause");
}

// --- lend-reclaim

TEST(LendReclaim, IdleCoresAreLentInEqualNumbersAndTakenBack) {
  auto world = MakeWorld(kSixteenCores, "lend-reclaim");
  world->Submit(1, UpTo(4, 16));
  EXPECT_EQ(world->Counts(), "1=16");
  world->SettleAll();
  world->Submit(2, UpTo(6, 16));
  EXPECT_EQ(world->Counts(), "1=7 2=9") << "6 are nobody's: 3 each";
  world->SettleAll();
  world->Submit(3, UpTo(6, 16));
  EXPECT_EQ(world->Counts(), "1=4 2=6 3=6");
  world->SettleAll();
  world->Submit(4, UpTo(1, 1));
  EXPECT_EQ(world->Counts(), "1=4 2=6 3=6 4=wait") << "nobody has fewer than it owns";
  world->Finish(2);
  EXPECT_EQ(world->Counts(), "1=7 3=8 4=1");
}

TEST(LendReclaim, ReclaimedCoresPassOnWhenTheBorrowerHasLeft) {
  auto world = MakeWorld(kFourCores, "lend-reclaim");
  world->Submit(1, UpTo(2, 4));
  world->SettleAll();
  world->host.TakeLog();
  world->Submit(2, UpTo(2, 4));
  EXPECT_EQ(world->host.TakeLog(), "grant 1 0-1 1x2");
  world->Settle(1);
  EXPECT_EQ(world->host.TakeLog(), "start 2 2-3 1x2");
}

TEST(LendReclaim, RigidAndMoldableJobsDoNotBorrow) {
  auto world = MakeWorld(kFourCores, "lend-reclaim");
  world->Submit(MakeJob(1, UpTo(1, 4), Elasticity::kRigid));
  world->Submit(MakeJob(2, UpTo(1, 4), Elasticity::kMoldable));
  EXPECT_EQ(world->Counts(), "1=1 2=1");
  world->Submit(3, UpTo(1, 4));
  EXPECT_EQ(world->Counts(), "1=1 2=1 3=2");
}

TEST(LendReclaim, AJobWaitsUntilItCanOwnAllThatItAsksForAndASmallerOneMayPass) {
  auto world = MakeWorld(kFourCores, "lend-reclaim");
  world->Submit(1, UpTo(2, 4));
  world->Submit(2, UpTo(3, 4));
  world->Submit(3, UpTo(1, 1));
  EXPECT_EQ(world->Counts(), "1=3 2=wait 3=1");
}

// --- feedback

// Half a second later the job has done so many of its 1000 steps more.
std::string TickAfter(World& world, double steps) {
  world.SettleAll();
  world.host.progress.try_emplace({1}, 0).first->second += steps / 1000;
  return Tick(world);
}

Job Counted(int64_t id, CoreRequest request, Elasticity elasticity = Elasticity::kMalleable) {
  Job job = MakeJob(id, request, elasticity);
  job.steps = 1000;
  return job;
}

std::unique_ptr<World> StartedOnMin(const PolicyParameters& parameters = {}) {
  auto world = MakeWorld(kSixteenCores, "feedback", parameters);
  world->host.progress[{1}] = 0;
  world->Submit(Counted(1, UpTo(4, 4)));
  EXPECT_EQ(world->Counts(), "1=1");
  world->SettleAll();
  return world;
}

TEST(Feedback, AJobGrowsWhileItsMeasuredEfficiencyIsAboveTheTarget) {
  auto world = StartedOnMin();
  EXPECT_EQ(TickAfter(*world, 10), "1=2");  // The reference.
  EXPECT_EQ(TickAfter(*world, 18), "1=3");  // 0.9
  EXPECT_EQ(TickAfter(*world, 24), "1=4");  // 0.8
  EXPECT_EQ(TickAfter(*world, 27), "1=3");  // 0.68: one fewer, and that is it
  EXPECT_EQ(TickAfter(*world, 24), "1=3");
  EXPECT_EQ(TickAfter(*world, 24), "1=3");
  EXPECT_EQ(TickAfter(*world, 15), "1=2") << "0.5: something has changed";
}

TEST(Feedback, AnEndLetsTheOthersTryAgain) {
  auto world = StartedOnMin();
  world->Submit(Counted(2, Exactly(1)));
  TickAfter(*world, 10);
  EXPECT_EQ(TickAfter(*world, 12), "1=1 2=1");
  EXPECT_EQ(TickAfter(*world, 10), "1=1 2=1");
  world->Finish(2);
  EXPECT_EQ(TickAfter(*world, 10), "1=2");
}

TEST(Feedback, TooFewStepsAreNoMeasurement) {
  auto world = StartedOnMin();
  EXPECT_EQ(TickAfter(*world, 3), "1=1");
  EXPECT_EQ(TickAfter(*world, 3), "1=2") << "six in all, over both periods";
}

TEST(Feedback, TargetStepAndPeriodAreParameters) {
  auto world = StartedOnMin({{"target", "0.95"}, {"step", "3"}, {"period_ms", "20"}});
  EXPECT_EQ(world->policy->TickPeriod(), std::chrono::milliseconds(20));
  EXPECT_EQ(TickAfter(*world, 10), "1=4");
  EXPECT_EQ(TickAfter(*world, 37), "1=1");  // 0.93
}

TEST(Feedback, NobodyGrowsWhileAJobWaits) {
  auto world = StartedOnMin();
  world->Submit(Counted(2, Exactly(16)));
  EXPECT_EQ(world->Counts(), "1=1 2=wait");
  EXPECT_EQ(TickAfter(*world, 10), "1=1 2=wait");
}

TEST(Feedback, RigidJobsWaitForAllMoldableOnesTakeWhatIsFreeAndBothAreLeftAlone) {
  auto world = MakeWorld(kFourCores, "feedback");
  world->Submit(Counted(1, UpTo(3, 4), Elasticity::kRigid));
  world->Submit(Counted(2, UpTo(2, 4), Elasticity::kRigid));
  world->Submit(Counted(3, UpTo(2, 4), Elasticity::kMoldable));
  EXPECT_EQ(world->Counts(), "1=3 2=wait 3=1");
  EXPECT_EQ(TickAfter(*world, 10), "1=3 2=wait 3=1");
}

}  // namespace
}  // namespace cosched
