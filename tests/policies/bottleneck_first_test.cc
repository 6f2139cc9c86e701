// Decisions of bottleneck-first by queues computed by hand; a second is a core's unless said.

#include <gtest/gtest.h>

#include "tests/policies/pipeline_machine.h"

namespace cosched {
namespace {

constexpr char kPolicy[] = "bottleneck-first";

// A pipeline of one stage with so much work that waits.
ServerWindow Waits(int64_t seconds) {
  return {.in_flight = 1, .stages = {Stage(seconds, 0, 1)}, .open = 1};
}

TEST(BottleneckFirst, NobodyWaitsSoTheOthersShareAllButTheMin) {
  PipelineMachine machine(kSixteenCores, kPolicy);
  machine.AddPipeline(1);
  EXPECT_EQ(machine.Counts(), "1=16") << "nobody else can use them";
  machine.AddPipeline(2, {}, {2, 2, 4});
  EXPECT_EQ(machine.Counts(), "1=12 2=4");
  machine.AddJob(3);
  machine.AddJob(4, {1, 2, 3});
  EXPECT_EQ(machine.Counts(), "1=1 2=2 3=10 4=3");
  EXPECT_EQ(machine.Over(), "1=1 2=2 3=10 4=3");
}

TEST(BottleneckFirst, CoresUntilAQueueTakesNoLongerThanItMay) {
  PipelineMachine machine(kSixteenCores, kPolicy);
  machine.AddPipeline(1);
  machine.AddPipeline(2);
  machine.AddJob(3);
  // (6 + 2) x 0.5; 4 x 0.25; and two requests outside, of which one took (2 + 1) / 3: 4 + 1 + 2.
  machine.Window(1) = {
      .answered = 3, .in_flight = 5, .stages = {Stage(6, 2, 0.5), Stage(4, 0, 0.25)}, .open = 3};
  machine.Window(2) = Waits(3);
  EXPECT_EQ(machine.Over(), "1=7 2=3 3=6");
}

TEST(BottleneckFirst, StagesThatWaitHaveNoWork) {
  PipelineMachine machine(kSixteenCores, kPolicy);
  machine.AddPipeline(1);
  machine.AddJob(2);
  StageWindow waits = Stage(50, 50, 2);
  waits.waits = true;
  machine.Window(1) = {.answered = 4, .in_flight = 6, .stages = {Stage(2, 0, 1), waits}, .open = 4};
  EXPECT_EQ(machine.Over(), "1=4 2=12") << "2 x 1, and two requests of 4 / 4";
}

TEST(BottleneckFirst, RequestsInFrontOfServersAreSharedByThese) {
  PipelineMachine machine(kSixteenCores, kPolicy);
  machine.AddPipeline(1);
  machine.AddJob(2);
  machine.Window(1) = Waits(2);
  machine.Window(1).answered = 4;  // A request takes a second.
  machine.Service(1).queued = 6;
  // One that this machine knows nothing of takes half of them.
  machine.Service(1).servers.emplace_back(DeviceId{0}, ServerWindow());
  EXPECT_EQ(machine.Over(), "1=5 2=11");
}

TEST(BottleneckFirst, AnOrdinaryServiceWaitsForTheCpuTimeOfItsRequests) {
  PipelineMachine machine(kSixteenCores, kPolicy, {{"rest_s", "0.5"}});
  machine.AddService(1);
  machine.AddJob(2);
  machine.Window(1) = {.answered = 6, .in_flight = 8, .cpu_time = std::chrono::seconds(3)};
  EXPECT_EQ(machine.Over(), "1=8 2=8") << "8 x 3 / 6 = 4, in half a second";
}

TEST(BottleneckFirst, WhereCoresAreFewTheLongestQueueOnItsCoresIsNext) {
  PipelineMachine machine(kFourCores, kPolicy, {{"hysteresis", "0"}});
  machine.AddPipeline(1);
  machine.AddPipeline(2);
  machine.Window(1) = Waits(6);
  machine.Window(2) = Waits(2);
  EXPECT_EQ(machine.Over(), "1=3 2=1") << "6 and then 3 are longer than 2";
  machine.Window(2) = Waits(18);
  EXPECT_EQ(machine.Over(), "1=2 2=2") << "6 and 10 by now: 10, then 6";
}

TEST(BottleneckFirst, NoMoreThanAJobCanUse) {
  PipelineMachine machine(kSixteenCores, kPolicy);
  machine.AddPipeline(1, {}, UpTo(1, 3));
  machine.AddJob(2, UpTo(1, 4));
  machine.AddPipeline(3);
  machine.Window(1) = Waits(1000);
  machine.Window(3) = Waits(2);
  EXPECT_EQ(machine.Over(), "1=3 2=4 3=9") << "what nobody else can use";
}

// Works of 8 and 4 in turn are 8, 6, 7, 5.5, 6.75 as means.
TEST(BottleneckFirst, CoresDoNotFollowEachWindow) {
  const auto cores = [](const char* hysteresis) {
    PipelineMachine machine(kSixteenCores, kPolicy, {{"hysteresis", hysteresis}});
    machine.AddPipeline(1);
    machine.AddJob(2);
    std::vector<int> seen;
    for (const int64_t work : {8, 4, 8, 4, 8}) {
      machine.Window(1) = Waits(work);
      machine.Over();
      seen.push_back(machine.View(1).cores.Count());
    }
    return seen;
  };
  EXPECT_EQ(cores("0"), (std::vector<int>{8, 6, 7, 6, 7}));
  EXPECT_EQ(cores("0.5"), (std::vector<int>{8, 8, 8, 8, 8}));
}

TEST(BottleneckFirst, WhatIsNoLongerNeededIsGivenBack) {
  PipelineMachine machine(kSixteenCores, kPolicy);
  machine.AddPipeline(1);
  machine.AddJob(2);
  machine.Window(1) = Waits(6);
  EXPECT_EQ(machine.Over(), "1=6 2=10");
  machine.Window(1) = Waits(1);  // 3.5, and 5.25 for cores that it has.
  EXPECT_EQ(machine.Over(), "1=6 2=10");
  EXPECT_EQ(machine.Over(), "1=4 2=12") << "2.25, and 3.375";
  machine.Window(1) = Waits(0);
  EXPECT_EQ(machine.Over(), "1=2 2=14") << "1.125, and 1.6875";
  EXPECT_EQ(machine.Over(), "1=1 2=15");
}

// An idle service that is asked again is not new.
TEST(BottleneckFirst, WhatACallCostsIsKnownAfterALongRest) {
  PipelineMachine machine(kSixteenCores, kPolicy);
  machine.AddPipeline(1);
  machine.AddJob(2);
  machine.Window(1) = {.answered = 4, .in_flight = 0, .stages = {Stage(0, 0, 1)}, .open = 0};
  machine.Over();
  machine.Window(1) = {.stages = {StageWindow()}};
  for (int i = 0; i < 2000; ++i) machine.Over();
  machine.Window(1) = {.in_flight = 10, .stages = {StageWindow{.ready = 10}}, .open = 10};
  EXPECT_EQ(machine.Over(), "1=5 2=11") << "the mean of 0 and 10";
}

TEST(BottleneckFirst, BetweenWindowsItGoesByTheLast) {
  PipelineMachine machine(kSixteenCores, kPolicy);
  machine.AddPipeline(1);
  machine.AddJob(2);
  machine.Window(1) = Waits(6);
  EXPECT_EQ(machine.Over(), "1=6 2=10");
  machine.AddJob(3);
  EXPECT_EQ(machine.Counts(), "1=6 2=5 3=5");
  machine.Finish(2);
  EXPECT_EQ(machine.Counts(), "1=6 3=10");
}

}  // namespace
}  // namespace cosched
