// Who makes a pipeline's calls: workers, the lanes' own threads, and whom they wake.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/gates/pipeline.h"
#include "tests/engine/gates/pipeline_fixture.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;

class PipelineLanesTest : public PipelineTest {};

TEST_F(PipelineLanesTest, CallsOfOneStageRunSideBySideAsTheSplitAllows) {
  Door door;
  std::atomic<int> inside{0}, most{0};
  const StageFactory meets = [&] {
    return MakeNativeStage([&](StageCall& call, int) {
      const int now = ++inside;
      int seen = most;
      while (seen < now && !most.compare_exchange_weak(seen, now)) {
      }
      if (now == 2) door.Open();
      door.Pass();
      --inside;
      call.Emit(Payload());
      return false;
    });
  };
  Pipeline& pipeline = Make({.stages = {{.name = "meets"}}}, {meets});
  pipeline.Submit({.number = 1, .items = Numbers(0, 6)});
  End();
  EXPECT_EQ(most, 2);
}

// A lane that sleeps hears of what is emitted before its call is over.
TEST_F(PipelineLanesTest, WhatAPieceEmitsIsTakenWhileItsCallGoesOn) {
  constexpr int kMostPieces = 1'000'000;
  std::atomic<bool> taken{false}, taken_meanwhile{false};
  const StageFactory emits = [&] {
    return MakeNativeStage([&](StageCall& call, int piece) {
      if (piece == 0) call.Emit(Payload::Of(1, sizeof(int)));
      std::this_thread::yield();
      taken_meanwhile = taken.load();
      return !taken_meanwhile && piece < kMostPieces;
    });
  };
  const StageFactory takes = [&] {
    return MakeNativeStage([&](StageCall& call, int) {
      taken = true;
      call.Emit(Payload());
      return false;
    });
  };
  Pipeline& pipeline =
      Make({.stages = {{.name = "emits", .emits_many = true}, {.name = "takes"}}}, {emits, takes});
  pipeline.Submit({.number = 1, .items = Numbers(0, 1)});
  End();
  EXPECT_TRUE(taken_meanwhile);
}

// A stage that is made in pieces, and one that is not, which needs the lane's own thread.
TEST_F(PipelineLanesTest, ALaneMakesCallsOnWorkersAndOnItsThreadInTurn) {
  class OnLane : public Stage {
   public:
    explicit OnLane(std::atomic<int>* on_workers) : on_workers_(*on_workers) {}
    bool Run(StageCall& call) override {
      if (call.Pools()->inter().CurrentWorker() >= 0) ++on_workers_;
      call.Emit(std::move(call.Batch().items.front().payload));
      return false;
    }

   private:
    std::atomic<int>& on_workers_;
  };
  std::atomic<int> pieces{0}, pieces_on_workers{0}, others_on_workers{0};
  const StageFactory in_pieces = [&] {
    return MakeNativeStage([&](StageCall& call, int piece) {
      ++pieces;
      if (call.Pools()->inter().CurrentWorker() >= 0) ++pieces_on_workers;
      if (piece == 2) call.Emit(std::move(call.Batch().items.front().payload));
      return piece < 2;
    });
  };
  const StageFactory on_lane = [&] { return std::make_unique<OnLane>(&others_on_workers); };
  Pipeline& pipeline =
      Make({.stages = {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}}},
           {in_pieces, on_lane, on_lane, in_pieces});
  pipeline.Submit({.number = 1, .items = Numbers(7, 20)});
  End();
  std::vector<int> expected(20);
  std::iota(expected.begin(), expected.end(), 7);
  EXPECT_EQ(Told(results_.at(1)), expected);
  EXPECT_EQ(pieces, 20 * 2 * 3);
  EXPECT_EQ(pieces_on_workers, pieces);
  EXPECT_EQ(others_on_workers, 0);
  ExpectEmpty();
}

TEST_F(PipelineLanesTest, AResizedPipelineGoesOnInTheMiddleOfACall) {
  Door begun, paused;
  const StageFactory counts = [&] {
    return MakeNativeStage([&](StageCall& call, int piece) {
      if (piece == 0) {
        begun.Open();
        paused.Pass();
      }
      if (piece == 50) call.Emit(Payload::Of(piece, sizeof(int)));
      return piece < 50;
    });
  };
  Pipeline& pipeline = Make({.stages = {{.name = "counts"}}}, {counts}, 1);
  pipeline.Submit({.number = 1, .items = Numbers(0, 1)});
  begun.Pass();
  pipeline.Pools().Resize(CpuSet(), {0, 0});
  paused.Open();
  EXPECT_TRUE(pipeline.Pools().WaitSettled(std::chrono::seconds(60)));
  EXPECT_EQ(pipeline.Sample().stages[0].running, 1);
  {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(results_.empty());
  }
  pipeline.Pools().Resize(CpuSet::Range(0, 0), {1, 1});
  End();
  EXPECT_THAT(Told(results_.at(1)), ElementsAre(50));
}

// The call that lost its worker comes before those that have not begun.
TEST_F(PipelineLanesTest, ACallThatAShrunkPipelineInterruptsIsNotOvertakenByAllOthers) {
  Door door;
  std::atomic<int> inside{0};
  std::mutex mutex;
  std::vector<int> ended;
  const StageFactory counts = [&] {
    return MakeNativeStage([&](StageCall& call, int piece) {
      const int number = call.Batch().items.front().payload.As<int>();
      if (piece == 0 && number < 2) {
        ++inside;
        door.Pass();
      }
      // By then the other call is where the pool keeps it.
      while (number >= 2 && !call.Pools()->Settled()) std::this_thread::yield();
      if (piece < 5) return true;
      const std::lock_guard lock(mutex);
      ended.push_back(number);
      call.Emit(Payload());
      return false;
    });
  };
  Pipeline& pipeline = Make({.stages = {{.name = "counts"}}}, {counts});
  pipeline.Submit({.number = 1, .items = Numbers(0, 60)});
  while (inside < 2) std::this_thread::yield();
  pipeline.Pools().Resize(CpuSet::Range(0, 0), {1, 1});
  door.Open();
  End();
  ASSERT_EQ(ended.size(), 60u);
  const auto later = std::max(std::ranges::find(ended, 0), std::ranges::find(ended, 1));
  EXPECT_LT(later - ended.begin(), 10);
}

TEST_F(PipelineLanesTest, ACallWhoseItemsFindNoRoomIsParkedAndItsLaneGoesOn) {
  // One computing lane: whoever emitted into the full gate must leave it to the stage that empties
  // it.
  const StageFactory floods = [] {
    return MakeNativeStage([](StageCall& call, int piece) {
      for (int i = 0; i < 3; ++i) call.Emit(Payload::Of(3 * piece + i, sizeof(int)));
      return piece < 9;
    });
  };
  Pipeline& pipeline = Make({.stages = {{.name = "floods", .parallel = 1, .emits_many = true},
                                        {.name = "adds", .from = {.items = 2}}}},
                            {floods, Adds()}, 1);
  pipeline.Submit({.number = 7, .items = Numbers(0, 1)});
  End();
  std::vector<int> expected(30);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(Told(results_.at(7)), expected);
  ExpectEmpty();
}

// Of what a parked call had kept some finds room, and the lane below sleeps by then: it is woken.
TEST_F(PipelineLanesTest, WhatAParkedCallCanEmitInPartIsTakenByALaneThatSleeps) {
  constexpr int kItems = 9;
  const StageFactory floods = [] {
    return MakeNativeStage([](StageCall& call, int) {
      for (int i = 0; i < kItems; ++i) call.Emit(Payload::Of(i, sizeof(int)));
      return false;
    });
  };
  Pipeline& pipeline =
      Make({.stages = {{.name = "floods", .parallel = 1, .emits_many = true},
                       {.name = "adds",
                        .from = {.hands = Gate::Hands::kMany, .batch = 2, .items = 2},
                        .parallel = 1,
                        .waits = true}}},
           {floods, Adds()}, 1);
  for (int i = 0; i < 100; ++i) pipeline.Submit({.number = i, .items = Numbers(0, 1)});
  End();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Told(results_.at(i)).size(), size_t{(kItems + 1) / 2});
  ExpectEmpty();
}

TEST_F(PipelineLanesTest, StagesThatWaitHaveLanesOfTheirOwn) {
  Door door;
  const StageFactory waits = [&] {
    return MakeNativeStage([&](StageCall& call, int) {
      EXPECT_EQ(call.Pools(), nullptr);
      if (call.Batch().items.front().payload.As<int>() == 1) door.Pass();
      call.Emit(std::move(call.Batch().items.front().payload));
      return false;
    });
  };
  Pipeline& pipeline = Make({.stages = {{.name = "adds"},
                                        {.name = "waits", .parallel = 2, .waits = true},
                                        {.name = "adds too"}},
                             .open = 2,
                             .open_max = 2},
                            {Adds(), waits, Adds()}, 1);
  pipeline.Submit({.number = 1, .items = Numbers(0, 1)});
  door.AwaitSomebody();
  // Admitted later and done earlier: nothing at the egress holds it up.
  pipeline.Submit({.number = 2, .items = Numbers(1, 1)});
  Await(2);
  door.Open();
  End();
  EXPECT_THAT(order_, ElementsAre(2, 1));
  EXPECT_THAT(Told(results_.at(1)), ElementsAre(2));
}

TEST_F(PipelineLanesTest, WhatALaneThrowsEndsThePipeline) {
  Pipeline pipeline({.stages = {{.name = "adds"}}}, {Adds()}, {.capacity = {2, 1}},
                    [](const PipelineResult&) { throw std::runtime_error("the disk is full"); });
  pipeline.Pools().Resize(CpuSet::Range(0, 0), {1, 1});
  pipeline.Begin();
  pipeline.Submit({.number = 1, .items = Numbers(0, 1)});
  try {
    pipeline.WaitUntilOver();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the disk is full");
  }
}

}  // namespace
}  // namespace cosched
