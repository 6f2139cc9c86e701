// A device's threads, without a host: every request is in one hold, and no slot has two at once.

#include "experiments/tenant/device_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/pool/spin.h"
#include "experiments/tenant/device_host_work.h"
#include "experiments/wire/shared_counters.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

class DeviceServiceTest : public ::testing::Test {
 protected:
  static DeviceStart Start(int slots) {
    DeviceStart start{
        .device = {0}, .slots = slots, .seed = 1, .host_threads = 2, .profile = {}, .services = {}};
    start.profile.name = "accelerator";
    start.profile.models["lenet5"].occupancy_s = {{1, {0.0001}}, {8, {0.0003}}};
    start.profile.models["lenet5"].host_wait_s = 0.001;
    start.profile.models["resnet20"].occupancy_s = {{1, {0.0, 0.0005}}};
    start.profile.switch_s = 0.0002;
    for (const char* model : {"lenet5", "", "resnet20"}) {
      start.services.emplace_back();
      if (*model == '\0') continue;
      start.services.back().emplace().model = model;
      start.services.back()->batch = 4;
    }
    return start;
  }
  void Open(const DeviceStart& start) {
    service_ = std::make_unique<DeviceService>(start, [this](const DeviceHold& hold) {
      const std::lock_guard<std::mutex> lock(mutex_);
      holds_.push_back(hold);
      held_ += hold.requests.size();
      news_.notify_one();
    });
  }
  void AwaitHeld(size_t requests) {
    std::unique_lock<std::mutex> lock(mutex_);
    EXPECT_TRUE(news_.wait_for(lock, std::chrono::seconds(60), [&] { return held_ >= requests; }));
  }

  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<DeviceHold> holds_;
  size_t held_ = 0;
  std::unique_ptr<DeviceService> service_;
};

TEST_F(DeviceServiceTest, EveryRequestIsInOneHoldAndNoSlotHasTwo) {
  constexpr int kSlots = 3, kThreads = 4;
  constexpr uint64_t kEach = 500;
  Open(Start(kSlots));
  std::vector<std::thread> askers;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    askers.emplace_back([this, thread] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const DeviceRequest request{i % 2 == 0 ? 0 : 2, thread * kEach + i, 1,
                                    TimePoint(MonotonicNow())};
        service_->Submit({&request, 1});
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  AwaitHeld(kThreads * kEach);
  service_ = nullptr;
  std::set<uint64_t> numbers;
  std::map<int, TimePoint> free_since;
  std::ranges::sort(holds_, {}, &DeviceHold::begin);
  for (const DeviceHold& hold : holds_) {
    EXPECT_LE(free_since[hold.slot], hold.begin);
    EXPECT_LE(hold.begin, hold.planned_end);
    EXPECT_LE(hold.planned_end, hold.end);
    free_since[hold.slot] = hold.planned_end;
    EXPECT_LE(hold.requests.size(), hold.service == 0 ? 4u : 1u);
    for (const DeviceRequest& request : hold.requests) {
      EXPECT_EQ(request.service, hold.service);
      EXPECT_EQ(request.service, request.number % 2 == 0 ? 0 : 2);
      EXPECT_GE(hold.begin - request.received, milliseconds(request.service == 0 ? 1 : 0));
      numbers.insert(request.number);
    }
  }
  EXPECT_EQ(numbers.size(), kThreads * kEach);
  EXPECT_EQ(held_, kThreads * kEach);
  EXPECT_EQ(free_since.size(), static_cast<size_t>(kSlots));
}

TEST_F(DeviceServiceTest, ServesWhatItWasToldOf) {
  Open(Start(1));
  EXPECT_TRUE(service_->Serves(0));
  EXPECT_FALSE(service_->Serves(1));
  EXPECT_TRUE(service_->Serves(2));
  EXPECT_FALSE(service_->Serves(3));
  EXPECT_FALSE(service_->Serves(-1));
}

TEST_F(DeviceServiceTest, EndsWithRequestsOnTheirWay) {
  DeviceStart start = Start(1);
  start.profile.models["lenet5"].host_wait_s = 3600;
  Open(start);
  const std::vector<DeviceRequest> requests = {{0, 0, 1, {}}, {2, 1, 1, {}}};
  service_->Submit(requests);
  AwaitHeld(1);
  service_ = nullptr;
  EXPECT_EQ(held_, 1u);
}

TEST_F(DeviceServiceTest, DataSetsThatCannotBeHadAreRefused) {
  DeviceStart start = Start(1);
  start.services[0]->dataset = "cifar10";
  EXPECT_THROW(Open(start), InputError);
}

TEST(DeviceHostWorkTest, TakesTheCpuTimeThatTheProfileSays) {
  ProgramSpec program;
  program.model = "lenet5";
  const DeviceHostWork work(program, milliseconds(20));
  std::vector<float> pixels;
  for (const uint64_t number : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    const Duration before = ThreadCpuTime();
    work.Do(number, &pixels);
    EXPECT_GE(ThreadCpuTime() - before, milliseconds(20));
    EXPECT_EQ(pixels.size(), 28u * 28u);
    // It has not worked the image away.
    EXPECT_GT(std::ranges::max(pixels) - std::ranges::min(pixels), 1.0f);
  }
}

}  // namespace
}  // namespace cosched
