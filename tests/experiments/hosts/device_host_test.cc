// Modelled devices on real cores: `cosched tenant` processes that hold slots for a time. Nothing
// here asserts how long anything took, but by the device's own plans.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "experiments/os/process_sampler.h"
#include "experiments/os/realtime.h"
#include "tests/experiments/hosts/process_host_fixture.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr DeviceId kAccelerator{0};
constexpr int64_t kDigits = 0, kNone = 1, kImages = 2;

class DeviceHostTest : public ProcessHostTest {
 protected:
  DeviceHostTest() {
    options_.binary = CoschedBinary();
    profile_.name = "by hand";
    profile_.provenance = "modelled: by hand";
    profile_.models["lenet5"].occupancy_s = {{1, {0.002}}};
    profile_.models["resnet20"].occupancy_s = {{1, {0.001}}, {4, {0.004}}};
  }
  DeviceSpec Device(int slots) const {
    TenantSpec digits, images;
    digits.model = "lenet5";
    digits.batch = 8;
    images.model = "resnet20";
    images.batch = 8;
    return {.id = kAccelerator,
            .name = "accelerator",
            .profile = std::make_shared<DeviceProfile>(profile_),
            .cores = Topology::ThisMachine().Cpus(),
            .slots = slots,
            .seed = 1,
            .services = {digits, std::nullopt, images}};
  }
  void Send(int64_t service, double work = 1) {
    Host().Send(kAccelerator, {.id = next_id_++,
                               .scheduled = Host().GetClock().Now(),
                               .work = work,
                               .service = {service}});
  }
  // Until so many requests have been answered in all, or for so long that they never will be.
  void AwaitAnswers(size_t count) {
    Host().WakeAtAnswers(true);
    const TimePoint patience = Host().GetClock().Now() + seconds(60);
    while (answered_.size() < count && Host().GetClock().Now() < patience) {
      const std::optional<HostEvent> event = Next(milliseconds(200));
      if (event && std::holds_alternative<HostLostDevice>(*event))
        FAIL() << std::get<HostLostDevice>(*event).reason;
      Take();
    }
    ASSERT_EQ(answered_.size(), count);
  }
  void Take() {
    for (const RequestSample& sample : Host().TakeRequests()) answered_.push_back(sample);
    for (const HoldSample& hold : Host().TakeHolds()) holds_.push_back(hold);
  }
  // The next event is the device's loss; its reason.
  std::string Loss() {
    const std::optional<HostEvent> event = Next();
    const auto* lost = event ? std::get_if<HostLostDevice>(&*event) : nullptr;
    if (lost == nullptr) return "nothing was lost";
    EXPECT_EQ(lost->device, kAccelerator);
    EXPECT_TRUE(LivingChildrenOf(getpid()).empty()) << "lost, but its process is still there";
    return lost->reason;
  }
  // The times of a slot's holds do not overlap, and none is shorter than planned.
  void ExpectDisjointHolds(int slots) {
    std::map<int, std::vector<HoldSample>> by_slot;
    for (const HoldSample& hold : holds_) by_slot[hold.slot].push_back(hold);
    for (auto& [slot, holds] : by_slot) {
      EXPECT_GE(slot, 0);
      EXPECT_LT(slot, slots);
      std::ranges::sort(holds, {}, &HoldSample::begin);
      for (size_t i = 0; i < holds.size(); ++i) {
        EXPECT_LE(holds[i].begin, holds[i].planned_end);
        EXPECT_LE(holds[i].planned_end, holds[i].end);
        EXPECT_LE(i > 0 ? holds[i - 1].planned_end : TimePoint(), holds[i].begin)
            << "slot " << slot;
      }
    }
  }

  DeviceProfile profile_;
  std::vector<RequestSample> answered_;
  std::vector<HoldSample> holds_;
  int64_t next_id_ = 100;
};

TEST_F(DeviceHostTest, SlotsAreHeldAsPlannedAndOneAfterTheOther) {
  constexpr int kSlots = 2;
  constexpr size_t kRequests = 200;
  Host().AddDevice(Device(kSlots));
  for (size_t i = 0; i < kRequests; ++i) Send(kDigits);
  AwaitAnswers(kRequests);
  ASSERT_EQ(holds_.size(), kRequests);
  ExpectDisjointHolds(kSlots);
  std::set<int> slots;
  for (const HoldSample& hold : holds_) {
    EXPECT_EQ(hold.device, kAccelerator);
    EXPECT_EQ(hold.service, ServiceId{kDigits});
    EXPECT_EQ(hold.batch, 1) << "the profile has no larger one";
    EXPECT_EQ(hold.planned_end - hold.begin, milliseconds(2));
    slots.insert(hold.slot);
  }
  EXPECT_EQ(slots.size(), static_cast<size_t>(kSlots));
  std::set<int64_t> ids;
  for (const RequestSample& sample : answered_) {
    EXPECT_EQ(sample.server, ServerId(kAccelerator));
    EXPECT_LE(sample.scheduled, sample.received);
    EXPECT_LE(sample.received, sample.started);
    EXPECT_GE(sample.finished - sample.started, milliseconds(2));
    ids.insert(sample.id);
  }
  EXPECT_EQ(ids.size(), kRequests);
  EXPECT_EQ(*ids.begin(), 100);
  TimePoint first = holds_[0].begin, last = holds_[0].end;
  for (const HoldSample& hold : holds_) {
    first = std::min(first, hold.begin);
    last = std::max(last, hold.end);
  }
  // Told, for a machine that may be crowded by strangers says nothing of the device.
  std::cout << "at saturation it answered " << kRequests / ToSeconds(last - first)
            << " requests a second, of " << kSlots / 0.002 << " that its slots have time for"
            << std::endl;
}

TEST_F(DeviceHostTest, WhatWaitsTogetherIsABatch) {
  profile_.models["resnet20"].host_wait_s = 0.05;
  Host().AddDevice(Device(1));
  Send(kDigits, /*work=*/500);  // Meanwhile the others come to wait.
  for (int i = 0; i < 7; ++i) Send(kImages, /*work=*/i == 0 ? 3 : 1);
  AwaitAnswers(8);
  ASSERT_EQ(holds_.size(), 3u);
  ExpectDisjointHolds(1);
  EXPECT_EQ(holds_[0].planned_end - holds_[0].begin, seconds(1));
  // Four at most, and three take as long as four; the largest work counts.
  EXPECT_EQ(holds_[1].service, ServiceId{kImages});
  EXPECT_EQ(holds_[1].batch, 4);
  EXPECT_EQ(holds_[2].batch, 3);
  const Duration together =
      (holds_[1].planned_end - holds_[1].begin) + (holds_[2].planned_end - holds_[2].begin);
  EXPECT_EQ(together, milliseconds(3 * 4 + 4));
  for (const RequestSample& sample : answered_) {
    const Duration waited = sample.started - sample.received;
    EXPECT_GE(waited, milliseconds(sample.batch > 1 ? 50 : 0));
  }
}

TEST_F(DeviceHostTest, TheHostsPartIsWorkAndTheDevicesIsNone) {
  profile_.models["lenet5"].host_cpu_s = 0.01;
  Host().AddDevice(Device(1));
  Send(kDigits);
  AwaitAnswers(1);
  const pid_t process = OnlyChild();
  const Duration before = RunTime(process);
  for (int i = 0; i < 20; ++i) Send(kDigits);
  AwaitAnswers(21);
  EXPECT_GE(RunTime(process) - before, milliseconds(200));
  // For a minute; what is on its way through the host is so after that, without a break.
  Send(kDigits, /*work=*/30'000);
  const TimePoint patience = Host().GetClock().Now() + seconds(60);
  const auto run_times = [process] {
    ProcessSampler sampler(process);
    sampler.Read();
    std::map<pid_t, Duration> all;
    for (const ProcessSampler::Thread& thread : sampler.Threads())
      all[thread.tid] = thread.run_time;
    all.erase(process);  // It beats.
    return all;
  };
  std::map<pid_t, Duration> last;
  while (last != run_times() && Host().GetClock().Now() < patience) {
    last = run_times();
    Next(milliseconds(300));
  }
  EXPECT_EQ(last, run_times()) << "somebody works while a slot is held";
  Take();
  EXPECT_EQ(answered_.size(), 21u);
}

TEST_F(DeviceHostTest, ADeviceThatIsKilledLosesWhatItHadAndNothingElse) {
  Host().AddDevice(Device(1));
  Send(kDigits);
  Send(kImages);
  AwaitAnswers(2);
  for (int i = 0; i < 3; ++i) Send(kDigits, /*work=*/30'000);
  EXPECT_FALSE(Next(milliseconds(300)));
  kill(OnlyChild(), SIGKILL);
  EXPECT_EQ(Loss(), "was killed by signal 9 (Killed)");
  Send(kDigits);  // To nobody.
  EXPECT_FALSE(Next(milliseconds(100)));
  Take();
  EXPECT_EQ(answered_.size(), 2u);
  EXPECT_EQ(holds_.size(), 2u);
}

TEST_F(DeviceHostTest, ADeviceThatCannotStartIsLost) {
  options_.binary = "/nonexistent/cosched";
  Host().AddDevice(Device(1));
  Send(kDigits);
  EXPECT_EQ(Loss(), "could not be executed before it was ready");
}

TEST_F(DeviceHostTest, ADeviceWithoutItsImagesIsLost) {
  DeviceSpec device = Device(1);
  device.services[kDigits]->dataset = "mnist";
  Host().AddDevice(device);
  const std::string reason = Loss();
  EXPECT_NE(reason.find("the folder that holds the files of mnist"), std::string::npos) << reason;
}

TEST_F(DeviceHostTest, ADeviceThatStopsIsLost) {
  options_.timeouts.heartbeat = seconds(2);
  Host().AddDevice(Device(1));
  Send(kDigits);
  AwaitAnswers(1);
  kill(OnlyChild(), SIGSTOP);
  EXPECT_EQ(Loss(), "gave no heartbeat within 2000 ms");
}

TEST_F(DeviceHostTest, RequestsOfOtherServicesAreRefused) {
  Host().AddDevice(Device(1));
  Send(kNone);
  EXPECT_EQ(Loss(), "got requests of service 1, which it does not serve");
}

TEST_F(DeviceHostTest, TenantsRunBesideIt) {
  Host().AddDevice(Device(1));
  Send(kDigits);
  AwaitAnswers(1);
  EXPECT_TRUE(Host().Sample().empty()) << "it is no job";
  EXPECT_EQ(UnionOfBindings(OnlyChild(), /*compute_only=*/false), machine_);
}

TEST_F(DeviceHostTest, HoldersThatMayNotRunFirstAreMarked) {
  Host().AddDevice(Device(1));
  Send(kDigits);
  AwaitAnswers(1);
  const std::vector<std::string> marks = Host().TakeMarks();
  EXPECT_TRUE(LivingChildrenOf(getpid()).empty());
  const bool marked = std::ranges::any_of(marks, [](const std::string& mark) {
    return mark.find("could not hold its slots SCHED_FIFO") != std::string::npos;
  });
  EXPECT_NE(marked, RealtimeScope().granted());
}

}  // namespace
}  // namespace cosched
