// What windows tell of pipelines: stages as they are at the end, and what they did since the last.

#include "experiments/harness/service_windows.h"

#include <gtest/gtest.h>

#include <map>

namespace cosched {
namespace {

class PipelineWindowsTest : public testing::Test {
 protected:
  PipelineWindowsTest() {
    windows_.AddService("pipeline", Duration(0));
    windows_.AddServer(0, JobId{3});
    windows_.AddService("net", Duration(0));
    windows_.AddServer(1, JobId{4});
    windows_.AddServer(1, DeviceId{0});
  }

  // After `seconds` in all.
  void Close(int seconds) {
    windows_.Close(
        TimePoint(std::chrono::seconds(seconds)), [](JobId) { return Duration(0); },
        [this](JobId job) {
          asked_[job.value] += 1;
          return job.value == 3 ? pipeline_ : PipelineCounters();
        });
  }
  const ServerWindow& Window() const { return windows_.Views().at(0).servers.at(0).second; }

  ServiceWindows windows_;
  PipelineCounters pipeline_;
  std::map<int64_t, int> asked_;
};

StageCounters SoFar(int64_t calls, int64_t taken, int busy_ms, int lasted_ms) {
  return {.calls = calls,
          .taken = taken,
          .busy = std::chrono::milliseconds(busy_ms),
          .lasted = std::chrono::milliseconds(lasted_ms)};
}

TEST_F(PipelineWindowsTest, StagesTellWhatIsThereAndWhatTheyDidSince) {
  pipeline_ = {.stages = {SoFar(2, 20, 100, 150), SoFar(1, 5, 10, 40)}, .open = 2};
  Close(1);
  ASSERT_EQ(Window().stages.size(), 2u);
  EXPECT_EQ(Window().stages[0].calls, 2) << "from the begin of all";

  pipeline_ = {.stages = {SoFar(5, 50, 350, 450), SoFar(1, 5, 10, 90)}, .open = 3};
  pipeline_.stages[0].ready = 7;
  pipeline_.stages[0].running = 2;
  pipeline_.stages[1].parked = 1;
  pipeline_.stages[1].items = 40;
  pipeline_.stages[1].waits = true;
  Close(2);
  EXPECT_EQ(Window().open, 3);
  ASSERT_EQ(Window().stages.size(), 2u) << "of this window only";
  const StageWindow& first = Window().stages[0];
  EXPECT_EQ(first.ready, 7);
  EXPECT_EQ(first.running, 2);
  EXPECT_EQ(first.calls, 3);
  EXPECT_EQ(first.taken, 30);
  EXPECT_EQ(first.busy, std::chrono::milliseconds(250));
  EXPECT_EQ(first.lasted, std::chrono::milliseconds(300));
  EXPECT_FALSE(first.waits);
  const StageWindow& second = Window().stages[1];
  EXPECT_EQ(second.parked, 1);
  EXPECT_EQ(second.items, 40);
  EXPECT_EQ(second.calls, 0);
  EXPECT_EQ(second.busy, Duration(0));
  EXPECT_EQ(second.lasted, std::chrono::milliseconds(50));
  EXPECT_TRUE(second.waits);
}

// A sample may be older than the last one: nothing was undone.
TEST_F(PipelineWindowsTest, WhatStagesDidIsNeverNegative) {
  pipeline_ = {.stages = {SoFar(5, 50, 350, 450)}};
  Close(1);
  pipeline_ = {.stages = {SoFar(4, 40, 300, 400)}};
  Close(2);
  const StageWindow& stage = Window().stages.at(0);
  EXPECT_EQ(stage.calls, 0);
  EXPECT_EQ(stage.taken, 0);
  EXPECT_EQ(stage.busy, Duration(0));
  EXPECT_EQ(stage.lasted, Duration(0));
}

TEST_F(PipelineWindowsTest, OthersHaveNoStages) {
  pipeline_ = {.stages = {SoFar(1, 1, 1, 1)}, .open = 1};
  Close(1);
  for (const auto& [server, window] : windows_.Views().at(1).servers) {
    EXPECT_TRUE(window.stages.empty());
    EXPECT_EQ(window.open, 0);
  }
  EXPECT_EQ(asked_.at(4), 1);
}

TEST_F(PipelineWindowsTest, OneThatIsGoneIsNotAsked) {
  Close(1);
  windows_.Ended(0, 0);
  Close(2);
  EXPECT_EQ(asked_.at(3), 1);
  EXPECT_TRUE(windows_.Views().at(0).servers.empty());
}

}  // namespace
}  // namespace cosched
