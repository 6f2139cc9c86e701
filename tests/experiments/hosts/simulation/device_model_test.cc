// The simulated device alone: what a request goes through, and closed forms of its queue.

#include "experiments/hosts/simulation/device_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/base/random.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

// One service of a model with these figures.
DeviceSpec Device(int slots, double occupancy_s, double host_cpu_s = 0, double host_wait_s = 0) {
  auto profile = std::make_shared<DeviceProfile>();
  profile->name = "d";
  profile->provenance = "modelled: a test";
  profile->models["lenet5"] = {
      .occupancy_s = {{1, {occupancy_s}}}, .host_cpu_s = host_cpu_s, .host_wait_s = host_wait_s};
  DeviceSpec spec;
  spec.id = DeviceId{0};
  spec.name = "d";
  spec.profile = profile;
  spec.slots = slots;
  spec.seed = 5;
  TenantSpec service;
  service.model = "lenet5";
  service.batch = 1;
  spec.services = {service};
  return spec;
}

void RunUntil(DeviceModel* device, TimePoint until) {
  while (const auto next = device->NextEvent()) {
    if (*next > until) return;
    device->Advance(*next);
  }
}

// Ends are rounded up to a nanosecond.
double Milliseconds(Duration duration) { return ToSeconds(duration) * 1e3; }

Request At(int64_t id, TimePoint time, double work = 1) {
  return {.id = id, .scheduled = time, .work = work, .service = {0}};
}

TEST(DeviceModel, ARequestIsWorkedOnWaitsAndHoldsASlotOneAfterTheOther) {
  DeviceModel device(Device(1, 0.020, 0.004, 0.010), /*host_threads=*/1);
  const TimePoint start(milliseconds(100));
  device.Send(At(0, start), start);
  device.Send(At(1, start, 2), start);
  EXPECT_EQ(device.HostBusy(), 1);
  device.SetHostSpeed(0.5, start);  // 8 ms each.
  RunUntil(&device, TimePoint::max());
  EXPECT_EQ(device.HostBusy(), 0);
  const std::vector<RequestSample> answers = device.TakeAnswers();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_NEAR(Milliseconds(answers[0].started - start), 18, 1e-5);
  EXPECT_NEAR(Milliseconds(answers[0].finished - start), 38, 1e-5);
  EXPECT_NEAR(Milliseconds(answers[1].started - start), 38, 1e-5) << "was ready at 26";
  EXPECT_NEAR(Milliseconds(answers[1].finished - start), 78, 1e-5) << "twice the work";
  const std::vector<HoldSample> holds = device.TakeHolds();
  ASSERT_EQ(holds.size(), 2U);
  EXPECT_NEAR(Milliseconds(holds[1].begin - start), 38, 1e-5);
  EXPECT_EQ(holds[1].end, holds[1].planned_end);
  EXPECT_TRUE(device.TakeHolds().empty());
}

// Also what a request waits for beside the cores.
TEST(DeviceModel, ItGoesOnWhileTheHarnessIsBusy) {
  DeviceModel device(Device(1, 0.020, 0, 0.005), 1);
  for (int64_t id = 0; id < 3; ++id) device.Send(At(id, TimePoint()), TimePoint());
  const TimePoint late(milliseconds(50));
  while (*device.NextEvent() <= late) device.Advance(late);
  device.Send(At(3, late), late);
  RunUntil(&device, TimePoint::max());
  const std::vector<RequestSample> answers = device.TakeAnswers();
  ASSERT_EQ(answers.size(), 4U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(answers[i].started, TimePoint(milliseconds(5 + 20 * i)));
    EXPECT_EQ(answers[i].finished, TimePoint(milliseconds(5 + 20 * (i + 1))));
  }
}

TEST(DeviceModel, HostWorkStandsStillWithoutCores) {
  DeviceModel device(Device(1, 0.020, 0.004), 2);
  device.Send(At(0, TimePoint()), TimePoint());
  EXPECT_EQ(device.NextEvent(), std::nullopt);
  device.SetHostSpeed(1, TimePoint(milliseconds(500)));
  EXPECT_EQ(device.NextEvent(), TimePoint(milliseconds(504)));
}

// Poisson arrivals at this load of all slots, 10 ms each.
double MeanWait(int slots, double load, int64_t count) {
  constexpr double kOccupancy = 0.010;
  DeviceModel device(Device(slots, kOccupancy), 1);
  Random random(11);
  double time = 0, waits = 0;
  std::vector<HoldSample> holds;
  for (int64_t id = 0; id < count; ++id) {
    time += random.Exponential(kOccupancy / (load * slots));
    const TimePoint now{FromSeconds(time)};
    RunUntil(&device, now);
    device.Send(At(id, now), now);
    std::ranges::move(device.TakeHolds(), std::back_inserter(holds));
  }
  RunUntil(&device, TimePoint::max());
  std::ranges::move(device.TakeHolds(), std::back_inserter(holds));
  std::vector<TimePoint> free(static_cast<size_t>(slots));
  for (const HoldSample& hold : holds) {
    TimePoint& slot = free[static_cast<size_t>(hold.slot)];
    EXPECT_GE(hold.begin, slot) << "a slot is held twice";
    slot = hold.end;
  }
  const std::vector<RequestSample> answers = device.TakeAnswers();
  EXPECT_EQ(static_cast<int64_t>(answers.size()), count);
  for (const RequestSample& answer : answers) waits += ToSeconds(answer.started - answer.scheduled);
  return waits / static_cast<double>(count) / kOccupancy;
}

// M/D/1, Pollaczek and Khinchine: rho / (2 (1 - rho)) service times.
TEST(DeviceModel, OneSlotWaitsAsMd1) {
  for (const double load : {0.3, 0.6, 0.8})
    EXPECT_NEAR(MeanWait(1, load, 200'000) / (load / (2 * (1 - load))), 1, 0.03) << load;
}

// M/D/k by Cosmetatos' approximation (OR Quarterly 27, 1976), which is within 1 % at these loads.
TEST(DeviceModel, SeveralSlotsWaitAsMdk) {
  const auto expected = [](int k, double load) {
    double term = 1, sum = 0;  // Erlang C of M/M/k.
    for (int i = 0; i < k; ++i) {
      sum += term;
      term *= load * k / (i + 1);
    }
    const double wait_mmk = term / (1 - load) / (sum + term / (1 - load)) / (k * (1 - load));
    return wait_mmk / 2 *
           (1 + (1 - load) * (k - 1) * (std::sqrt(4 + 5.0 * k) - 2) / (16 * load * k));
  };
  for (const int slots : {2, 4})
    EXPECT_NEAR(MeanWait(slots, 0.8, 300'000) / expected(slots, 0.8), 1, 0.03) << slots;
}

// More is asked than its slots can answer: they are never idle, so the throughput is slots /
// occupancy.
TEST(DeviceModel, ThroughputAtSaturationIsSlotsPerOccupancy) {
  DeviceModel device(Device(3, 0.010), 1);
  for (int64_t id = 0; id < 3000; ++id) device.Send(At(id, TimePoint()), TimePoint());
  RunUntil(&device, TimePoint(std::chrono::seconds(5)));
  EXPECT_EQ(device.TakeAnswers().size(), 1500U);
}

}  // namespace
}  // namespace cosched
