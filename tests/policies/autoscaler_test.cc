// Controllers of services' cores that go by the CPU time that is used, and the system without them,
// window by window.

#include <gtest/gtest.h>

#include "tests/policies/controller_machine.h"

namespace cosched {
namespace {

// A window of two seconds in which so many cores were busy; what the first instance has then.
int64_t AfterUse(ControllerMachine& machine, double cores) {
  machine.Server(0).cpu_time = FromSeconds(2 * cores);
  return machine.Over().front();
}

const PolicyParameters kQuickHpa = {
    {"target", "0.5"}, {"period_s", "4"}, {"calm_s", "8"}, {"initial", "1"}};

TEST(Hpa, DecidesByTheUseOfItsPeriodUpToTheGrid) {
  ControllerMachine machine("hpa", 1, kQuickHpa);
  machine.Service().objective = Duration(0);  // It needs none.
  EXPECT_EQ(machine.Amounts().front(), 1000) << "what it has at first";
  EXPECT_EQ(AfterUse(machine, 0.9), 1000) << "half a period";
  EXPECT_EQ(AfterUse(machine, 0.72), 1700) << "1 x .81 / .5 = 1.62";
  EXPECT_EQ(AfterUse(machine, 1.7), 1700);
  EXPECT_EQ(AfterUse(machine, 1.7), 3400) << "it grows at once, by what it used of what it had";
}

TEST(Hpa, KeepsWhatIsWithinItsTolerance) {
  ControllerMachine machine("hpa", 1, kQuickHpa);
  AfterUse(machine, 0.55);
  EXPECT_EQ(AfterUse(machine, 0.55), 1000) << "1.1 of the target";
  AfterUse(machine, 0.46);
  EXPECT_EQ(AfterUse(machine, 0.46), 1000);
  AfterUse(machine, 0.56);
  EXPECT_EQ(AfterUse(machine, 0.56), 1200) << "1.12 of it";
}

TEST(Hpa, ShrinksToTheMostThatItWantedOfLate) {
  ControllerMachine machine("hpa", 1, kQuickHpa);
  AfterUse(machine, 0.8);
  EXPECT_EQ(AfterUse(machine, 0.8), 1600);  // At 4 s.
  AfterUse(machine, 0.6);
  EXPECT_EQ(AfterUse(machine, 0.6), 1600) << "it wants 1.2, but wanted 1.6 less than 8 s ago";
  AfterUse(machine, 0.2);
  EXPECT_EQ(AfterUse(machine, 0.2), 1600);  // At 12 s.
  AfterUse(machine, 0.2);
  EXPECT_EQ(AfterUse(machine, 0.2), 1200) << "1.6 was 12 s ago, 1.2 was 8";
  AfterUse(machine, 0.2);
  EXPECT_EQ(AfterUse(machine, 0.2), 400);
  AfterUse(machine, 0);
  AfterUse(machine, 0);
  AfterUse(machine, 0);
  AfterUse(machine, 0);
  AfterUse(machine, 0);
  EXPECT_EQ(AfterUse(machine, 0), 100) << "its least";
}

TEST(Hpa, WhatItHasAtFirstCountsAsWanted) {
  ControllerMachine machine("hpa", 1, kQuickHpa);
  for (int window = 1; window <= 5; ++window) EXPECT_EQ(AfterUse(machine, 0.2), 1000) << window;
  EXPECT_EQ(AfterUse(machine, 0.2), 400) << "12 s later";
}

TEST(Hpa, WantsWhatItWantedWhenThereIsRoomAgain) {
  ControllerMachine machine("hpa", 2, kQuickHpa);
  const auto over = [&](double first, double second) {
    machine.Server(1).cpu_time = FromSeconds(2 * second);
    AfterUse(machine, first);
    return machine.Amounts();
  };
  over(1, 1.5);
  EXPECT_EQ(over(1, 1.5), (std::vector<int64_t>{1600, 2400})) << "2 and 3 of four cores";
}

// Bucket i ends at .01 (1.05^(i + 1) - 1) / .05: .5 is in the 25th, which ends at .51113, and 2 in
// the 49th, which ends at 2.09348; of both 1.15 times, up to a thousandth.
constexpr int64_t kForHalf = 588, kForTwo = 2408;

TEST(Vpa, GivesAHighPercentileOfWhatWasUsedAndAMargin) {
  ControllerMachine machine("vpa", 1, {{"period_s", "2"}, {"half_life_s", "1000000000"}});
  EXPECT_EQ(machine.Amounts().front(), 1000);
  // A sample weighs the cores that the instance had: 1 + 8 x .588 of use .5 …
  for (int i = 0; i < 9; ++i) EXPECT_EQ(AfterUse(machine, 0.5), kForHalf);
  // … of which a tenth is .63 with one sample of 2, that weighs .588, and .69 with two.
  EXPECT_EQ(AfterUse(machine, 2), kForHalf);
  EXPECT_EQ(AfterUse(machine, 2), kForTwo);
}

TEST(Vpa, ForgetsByItsHalfLife) {
  for (const bool forgets : {true, false}) {
    ControllerMachine machine("vpa", 1,
                              {{"period_s", "2"}, {"half_life_s", forgets ? "2" : "1000000000"}});
    for (int i = 0; i < 6; ++i) EXPECT_EQ(AfterUse(machine, 2), kForTwo);
    int64_t amount = 0;
    for (int i = 0; i < 6; ++i) amount = AfterUse(machine, 0.5);
    EXPECT_EQ(amount, forgets ? kForHalf : kForTwo);
  }
}

TEST(Vpa, TakesTheMeanOfItsPeriodAndKeepsALeast) {
  ControllerMachine machine("vpa", 1, {{"period_s", "4"}, {"half_life_s", "1"}});
  EXPECT_EQ(AfterUse(machine, 0.2), 1000);
  EXPECT_EQ(AfterUse(machine, 0.8), kForHalf);
  for (int i = 0; i < 20; ++i) AfterUse(machine, 0);
  EXPECT_EQ(machine.Amounts().front(), 25);
}

Job Instance(int64_t id, int64_t service) {
  Job job = MakeJob(id, {1, 4, 4});
  job.service = ServiceId{service};
  return job;
}

TEST(DevicesOnly, RefusesInstancesOfWhatADeviceServes) {
  const std::unique_ptr<ScheduledMachine> machine = MakeMachine(kFourCores, "devices-only");
  ServiceView with_device, without;
  with_device.id = {0};
  with_device.servers = {{DeviceId{0}, {}}, {JobId{1}, {}}};
  without.id = {1};
  without.servers = {{JobId{2}, {}}};
  machine->arbiter.SetServices({with_device, without});
  machine->Submit(Instance(1, 0));
  EXPECT_EQ(machine->observer.ends.at({1}), JobEnd::kDeclined);
  EXPECT_EQ(machine->arbiter.Waiting() + machine->arbiter.Started(), 0);
  machine->Submit(Instance(2, 1));
  machine->SettleAll();
  EXPECT_EQ(machine->arbiter.View().Find({2})->amount.milli, 4000) << "nobody else would answer";
  machine->Submit(Instance(3, 0));
  machine->Submit(MakeJob(4, {1, 4, 4}));
  machine->SettleAll();
  EXPECT_EQ(machine->observer.ends.at({3}), JobEnd::kDeclined);
  EXPECT_EQ(machine->arbiter.View().Find({2})->amount.milli, 2000) << "a job shares with it";
  EXPECT_EQ(machine->arbiter.View().Find({4})->amount.milli, 2000);
}

}  // namespace
}  // namespace cosched
