#include "workloads/device_queue.h"

#include <gtest/gtest.h>

#include "workloads/draw_delay.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;

constexpr int kSmall = 0, kLarge = 1, kOther = 2, kNotServed = 3;

class DeviceQueueTest : public ::testing::Test {
 protected:
  static DeviceProfile Modelled() {
    DeviceProfile profile;
    profile.name = "accelerator";
    profile.provenance = "modelled: by hand";
    profile.models["googlenet"].occupancy_s = {{1, {0.010}}, {4, {0.020}}, {8, {0.032}}};
    profile.models["vgg16"].occupancy_s = {{1, {0.1, 0.2, 0.4}}};
    profile.switch_s = 0.003;
    return profile;
  }
  static DeviceQueue Queue(int slots, uint64_t seed = 1) {
    return {Modelled(),
            slots,
            {{{"googlenet", 2}}, {{"googlenet", 100}}, {{"vgg16", 16}}, std::nullopt},
            seed};
  }
  static TimePoint At(int64_t ms) { return TimePoint(milliseconds(ms)); }
  static Duration Length(const DeviceQueue::Hold& hold) { return hold.planned_end - hold.begin; }
};

using Ids = std::vector<int64_t>;

TEST_F(DeviceQueueTest, NothingBeginsWithoutARequestOrWithoutASlot) {
  DeviceQueue queue = Queue(1);
  EXPECT_FALSE(queue.Begin());
  queue.Submit(kOther, 7, 1, At(1));
  queue.Submit(kOther, 8, 1, At(2));
  EXPECT_EQ(queue.Waiting(), 2);
  const auto hold = queue.Begin();
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->slot, 0);
  EXPECT_EQ(hold->service, kOther);
  EXPECT_EQ(hold->ids, Ids{7});
  EXPECT_EQ(hold->begin, At(1));
  EXPECT_FALSE(queue.Begin());
  EXPECT_EQ(queue.Held(), 1);
  queue.End(0);
  EXPECT_EQ(queue.Held(), 0);
  EXPECT_EQ(queue.Begin()->ids, Ids{8});
  EXPECT_EQ(queue.Waiting(), 0);
}

TEST_F(DeviceQueueTest, TheOldestGoesFirstWithThoseOfItsServiceInTheirOrder) {
  DeviceQueue queue = Queue(3);
  queue.Submit(kSmall, 1, 1, At(0));
  queue.Submit(kLarge, 2, 1, At(0));
  queue.Submit(kSmall, 3, 1, At(0));
  queue.Submit(kSmall, 4, 1, At(0));
  queue.Submit(kLarge, 5, 1, At(0));
  const auto first = queue.Begin();
  EXPECT_EQ(first->ids, (Ids{1, 3}));  // Two at most.
  const auto second = queue.Begin();
  EXPECT_EQ(second->ids, (Ids{2, 5}));  // One of service 0 has come between them.
  EXPECT_EQ(second->slot, 1);
  const auto third = queue.Begin();
  EXPECT_EQ(third->ids, Ids{4});
  EXPECT_EQ(third->slot, 2);
  queue.Submit(kSmall, 6, 1, At(1));
  queue.End(1);
  EXPECT_EQ(queue.Begin()->slot, 1);
}

TEST_F(DeviceQueueTest, ASlotGoesOnWhenItWasFreeWheneverItsHostNotices) {
  DeviceQueue queue = Queue(1);
  queue.Submit(kSmall, 1, 1, At(0));
  queue.Submit(kSmall, 2, 1, At(4));
  queue.Submit(kSmall, 3, 1, At(13));
  EXPECT_EQ(queue.Begin()->planned_end, At(10));
  queue.Submit(kLarge, 4, 1, At(14));  // The host sleeps on.
  queue.End(0);
  const auto next = queue.Begin();
  EXPECT_EQ(next->begin, At(10));
  EXPECT_EQ(next->ids, Ids{2});  // There was room for the one of 13 ms, but it was not there.
  EXPECT_EQ(next->planned_end, At(20));
  queue.End(0);
  EXPECT_EQ(queue.Begin()->begin, At(20));
  queue.End(0);
  EXPECT_EQ(queue.Begin()->ids, Ids{4});
  queue.End(0);
  queue.Submit(kSmall, 5, 1, At(90));
  EXPECT_EQ(queue.Begin()->begin, At(90));
}

TEST_F(DeviceQueueTest, ABatchInBetweenIsHeldAsLongAsTheNextLargerOne) {
  for (const auto& [requests, length] : {std::pair{1, 10}, {2, 20}, {4, 20}, {5, 32}, {8, 32}}) {
    DeviceQueue queue = Queue(1);
    for (int id = 0; id < requests; ++id) queue.Submit(kLarge, id, 1, At(0));
    const auto hold = queue.Begin();
    EXPECT_EQ(hold->ids.size(), static_cast<size_t>(requests));
    EXPECT_EQ(Length(*hold), milliseconds(length)) << requests;
  }
}

TEST_F(DeviceQueueTest, NoBatchIsLargerThanTheProfileHas) {
  DeviceQueue queue = Queue(1);
  for (int id = 0; id < 9; ++id) queue.Submit(kLarge, id, 1, At(0));
  EXPECT_EQ(queue.Begin()->ids.size(), 8u);
  EXPECT_EQ(queue.Waiting(), 1);
}

TEST_F(DeviceQueueTest, TheLargestWorkOfABatchCounts) {
  DeviceQueue queue = Queue(1);
  queue.Submit(kSmall, 1, 0.5, At(0));
  queue.Submit(kSmall, 2, 1.5, At(0));
  EXPECT_EQ(Length(*queue.Begin()), milliseconds(30));
}

TEST_F(DeviceQueueTest, ASlotThatChangesItsModelPaysForIt) {
  DeviceQueue queue = Queue(1);
  const auto length_of_next = [&](int service, double work) {
    queue.Submit(service, 0, work, At(0));
    const auto hold = queue.Begin();
    queue.End(0);
    return Length(*hold);
  };
  EXPECT_EQ(length_of_next(kSmall, 1), milliseconds(10));  // The first one finds its model there.
  EXPECT_EQ(length_of_next(kLarge, 1), milliseconds(10));  // Another service, the same model.
  EXPECT_EQ(length_of_next(kOther, 0), milliseconds(3));   // Switching is not work.
  EXPECT_EQ(length_of_next(kOther, 0), milliseconds(0));
  EXPECT_EQ(length_of_next(kSmall, 1), milliseconds(13));
}

TEST_F(DeviceQueueTest, ModelsAreThoseOfTheSlot) {
  DeviceQueue queue = Queue(2);
  queue.Submit(kSmall, 1, 1, At(0));
  queue.Submit(kOther, 2, 0, At(0));
  queue.Begin();
  EXPECT_EQ(Length(*queue.Begin()), milliseconds(0));  // Its first, on slot 1.
  queue.End(0);
  queue.End(1);
  queue.Submit(kSmall, 3, 1, At(1));
  EXPECT_EQ(Length(*queue.Begin()), milliseconds(10));  // Slot 0 still has it.
}

TEST_F(DeviceQueueTest, DrawsFollowTheQuantilesAndTheSeed) {
  DeviceQueue queue = Queue(1, /*seed=*/5);
  Random random(5);
  const DelayQuantiles quantiles = {0.1, 0.2, 0.4};
  Duration shortest = Duration::max(), longest{0};
  for (int id = 0; id < 1000; ++id) {
    queue.Submit(kOther, id, 1, At(id));
    const Duration length = Length(*queue.Begin());
    EXPECT_EQ(length, DrawDelay(quantiles, &random));
    shortest = std::min(shortest, length);
    longest = std::max(longest, length);
    queue.End(0);
  }
  EXPECT_LT(shortest, milliseconds(110));
  EXPECT_GT(longest, milliseconds(380));
}

TEST_F(DeviceQueueTest, RefusesWhatMakesNoSense) {
  DeviceQueue queue = Queue(1);
  EXPECT_DEATH(queue.Submit(kNotServed, 1, 1, At(0)), "does not serve service 3");
  EXPECT_DEATH(queue.Submit(4, 1, 1, At(0)), "does not serve service 4");
  EXPECT_DEATH(queue.End(0), "slot 0 is not held");
  queue.Submit(kSmall, 1, 1, At(5));
  EXPECT_DEATH(queue.Submit(kSmall, 2, 1, At(4)), "time goes back");
  EXPECT_DEATH(DeviceQueue(Modelled(), 1, {{{"resnet50", 1}}}, 1), "cannot serve resnet50");
}

}  // namespace
}  // namespace cosched
