#include "engine/gates/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/random.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Status = PipelineAnswer::Status;

std::vector<Payload> Numbers(int first, int count) {
  std::vector<Payload> payloads;
  for (int i = 0; i < count; ++i) payloads.push_back(Payload::Of(first + i, sizeof(int)));
  return payloads;
}

std::vector<int> Told(const PipelineResult& result) {
  std::vector<int> numbers;
  for (const Payload& payload : result.answer.payloads) numbers.push_back(payload.As<int>());
  return numbers;
}

// Emits the sum of its batch plus one.
StageFactory Adds() {
  return [] {
    return MakeNativeStage([](StageCall& call, int) {
      int sum = 1;
      for (const Item& item : call.Batch().items) sum += item.payload.As<int>();
      call.Emit(Payload::Of(sum, sizeof(int)));
      return false;
    });
  };
}

// What calls wait at until the test lets them go on.
class Door {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    news_.notify_all();
    news_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  void AwaitSomebody() {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return waiting_ > 0; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    news_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  int waiting_ = 0;
  bool open_ = false;
};

class PipelineTest : public ::testing::Test {
 protected:
  Pipeline& Make(const PipelineSpec& spec, std::vector<StageFactory> stages, int inter = 2) {
    pipeline_ = std::make_unique<Pipeline>(
        spec, std::move(stages), PipelineSettings{.capacity = {inter, 2}},
        [this](PipelineResult result) {
          const std::lock_guard lock(mutex_);
          order_.push_back(result.number);
          const int64_t number = result.number;
          EXPECT_TRUE(results_.emplace(number, std::move(result)).second) << number;
          news_.notify_all();
        });
    pipeline_->Pools().Resize(CpuSet::Range(0, 1), {inter, 1});
    pipeline_->Begin();
    return *pipeline_;
  }
  void End() {
    pipeline_->Drain();
    pipeline_->WaitUntilOver();
  }
  void Await(int64_t number) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return results_.contains(number); });
  }
  // Every credit is back and nothing is inside.
  void ExpectEmpty() {
    const PipelineSample sample = pipeline_->Sample();
    EXPECT_EQ(sample.open, 0);
    EXPECT_EQ(sample.waiting, 0);
    for (const PipelineSample::Stage& stage : sample.stages) {
      EXPECT_EQ(stage.items, 0) << stage.name;
      EXPECT_EQ(stage.running, 0) << stage.name;
      EXPECT_EQ(stage.parked, 0) << stage.name;
      EXPECT_EQ(stage.requests, 0) << stage.name;
    }
  }

  std::mutex mutex_;
  std::condition_variable news_;
  std::map<int64_t, PipelineResult> results_;
  std::vector<int64_t> order_;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(PipelineTest, AnswersEachRequestByOrdinal) {
  Pipeline& pipeline =
      Make({.stages = {{.name = "a"}, {.name = "b"}}, .open = 3, .open_max = 3}, {Adds(), Adds()});
  for (int i = 0; i < 20; ++i) {
    pipeline.Submit({.number = i, .items = Numbers(100 * i, i % 5)});
  }
  End();
  ASSERT_EQ(results_.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    const PipelineResult& result = results_.at(i);
    EXPECT_EQ(result.answer.status, Status::kDone);
    std::vector<int> expected(static_cast<size_t>(i % 5));
    std::iota(expected.begin(), expected.end(), 100 * i + 2);
    EXPECT_EQ(Told(result), expected);
    EXPECT_LE(result.submitted, result.admitted);
    EXPECT_LE(result.admitted, result.ended);
  }
  const PipelineSample sample = pipeline.Sample();
  EXPECT_EQ(sample.stages[0].calls, 40);
  EXPECT_EQ(sample.stages[1].taken, 40);
  ExpectEmpty();
}

TEST_F(PipelineTest, CallsOfOneStageRunSideBySideAsTheSplitAllows) {
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
TEST_F(PipelineTest, WhatAPieceEmitsIsTakenWhileItsCallGoesOn) {
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
TEST_F(PipelineTest, ALaneMakesCallsOnWorkersAndOnItsThreadInTurn) {
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

TEST_F(PipelineTest, AResizedPipelineGoesOnInTheMiddleOfACall) {
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
TEST_F(PipelineTest, ACallThatAShrunkPipelineInterruptsIsNotOvertakenByAllOthers) {
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

TEST_F(PipelineTest, ACallWhoseItemsFindNoRoomIsParkedAndItsLaneGoesOn) {
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
TEST_F(PipelineTest, WhatAParkedCallCanEmitInPartIsTakenByALaneThatSleeps) {
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

TEST_F(PipelineTest, AFailureIsOfItsRequestAlone) {
  const StageFactory refuses = [] {
    return MakeNativeStage([](StageCall& call, int) -> bool {
      const int number = call.Batch().items.front().payload.As<int>();
      if (number == 32) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        throw std::runtime_error("line 7 is no number");
      }
      call.Emit(Payload::Of(number, sizeof(int)));
      return false;
    });
  };
  Pipeline& pipeline =
      Make({.stages = {{.name = "refuses"}, {.name = "adds"}}, .open = 4, .open_max = 4},
           {refuses, Adds()});
  for (int i = 0; i < 10; ++i) pipeline.Submit({.number = i, .items = Numbers(10 * i, 4)});
  End();
  for (int i = 0; i < 10; ++i) {
    const PipelineResult& result = results_.at(i);
    if (i == 3) {
      EXPECT_EQ(result.answer.status, Status::kFailed);
      EXPECT_EQ(result.stage, "refuses");
      EXPECT_EQ(result.answer.item.ToString(), "2");
      EXPECT_EQ(result.answer.why, "line 7 is no number");
    } else {
      EXPECT_THAT(Told(result), ElementsAre(10 * i + 1, 10 * i + 2, 10 * i + 3, 10 * i + 4));
    }
  }
  EXPECT_GE(pipeline.Sample().stages[0].busy, std::chrono::milliseconds(2)) << "it was, in vain";
  ExpectEmpty();
}

// Files that payloads keep open, say.
TEST_F(PipelineTest, NothingOfAFailedRequestIsLeftWhenItIsTold) {
  const auto held = std::make_shared<int>();
  const StageFactory floods_and_fails = [&held] {
    return MakeNativeStage([&held](StageCall& call, int) -> bool {
      for (int i = 0; i < 4; ++i) call.Emit(Payload::Of(held, sizeof(int)));
      throw std::runtime_error("the fifth is missing");
    });
  };
  std::atomic<int64_t> left{-1};
  Pipeline pipeline(
      {.stages = {{.name = "floods", .emits_many = true}, {.name = "adds", .from = {.items = 1}}}},
      {floods_and_fails, Adds()}, {.capacity = {1, 1}}, [&](const PipelineResult& result) {
        EXPECT_EQ(result.answer.why, "the fifth is missing");
        left = held.use_count() - 1;
      });
  pipeline.Pools().Resize(CpuSet::Range(0, 0), {1, 1});
  pipeline.Begin();
  pipeline.Submit({.number = 1, .items = {Payload::Of(held, 0), Payload::Of(held, 0)}});
  pipeline.Drain();
  pipeline.WaitUntilOver();
  EXPECT_EQ(left, 0);
}

TEST_F(PipelineTest, NothingThatAnotherRankMadeForACancelledRequestIsLeftWhenItIsTold) {
  const auto held = std::make_shared<int>();
  int64_t left = -1;
  Pipeline pipeline({.stages = {{.name = "adds"}}}, {Adds()}, {.capacity = {1, 1}},
                    [&](const PipelineResult& result) {
                      EXPECT_EQ(result.answer.status, Status::kCancelled);
                      left = held.use_count() - 1;
                    });
  pipeline.Begin();
  pipeline.Submit({.number = 1, .items = {Payload::Of(held, 0)}});
  const std::optional<RemoteCall> call = pipeline.TakeRemote({0});
  ASSERT_TRUE(call);
  pipeline.Cancel(1, "left");
  EXPECT_EQ(left, -1) << "not before its call has ended";
  pipeline.EndRemote({.id = call->id, .outcome = Payload::Of(held, 0)});
  EXPECT_EQ(left, 0);
  pipeline.Pools().Resize(CpuSet::Range(0, 0), {1, 1});
}

TEST_F(PipelineTest, AFactoryThatThrowsFailsTheRequest) {
  Pipeline& pipeline =
      Make({.stages = {{.name = "lacks"}}},
           {[]() -> std::unique_ptr<Stage> { throw std::runtime_error("no such file"); }});
  pipeline.Submit({.number = 1, .items = Numbers(0, 2)});
  pipeline.Submit({.number = 2, .items = {}});
  End();
  EXPECT_EQ(results_.at(1).answer.status, Status::kFailed);
  EXPECT_EQ(results_.at(1).answer.why, "no such file");
  EXPECT_EQ(results_.at(2).answer.status, Status::kDone);
}

TEST_F(PipelineTest, ACancelledRequestEndsAtItsNextPieceAndGivesItsCreditBack) {
  Door door;
  std::atomic<int> pieces{0};
  const StageFactory stays = [&] {
    return MakeNativeStage([&](StageCall& call, int) {
      if (call.Batch().items.front().payload.As<int>() != 0) {
        call.Emit(Payload());
        return false;
      }
      if (++pieces == 1) door.Pass();
      return true;  // For ever.
    });
  };
  Pipeline& pipeline = Make({.stages = {{.name = "stays"}}}, {stays}, 1);
  pipeline.Submit({.number = 1, .items = Numbers(0, 1)});
  pipeline.Submit({.number = 2, .items = Numbers(1, 1)});
  pipeline.Submit({.number = 3, .items = Numbers(1, 1)});
  door.AwaitSomebody();
  pipeline.Cancel(3, "its client left");  // Not admitted yet: answered at once.
  Await(3);
  pipeline.Cancel(1, "its client left");
  pipeline.Cancel(99, "nobody");
  door.Open();
  End();
  for (const int64_t number : {1, 3}) {
    EXPECT_EQ(results_.at(number).answer.status, Status::kCancelled);
    EXPECT_EQ(results_.at(number).answer.why, "its client left");
  }
  EXPECT_EQ(results_.at(2).answer.status, Status::kDone);
  EXPECT_EQ(pieces, 1);
  ExpectEmpty();
}

TEST_F(PipelineTest, StagesThatWaitHaveLanesOfTheirOwn) {
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

TEST_F(PipelineTest, OpenRequestsAreBoundedByCreditsAlsoByThoseThatAreSetLater) {
  Door door;
  const StageFactory waits = [&] {
    return MakeNativeStage([&](StageCall& call, int) {
      door.Pass();
      call.Emit(Payload());
      return false;
    });
  };
  Pipeline& pipeline = Make({.stages = {{.name = "waits", .parallel = 8, .waits = true}},
                             .link = CreditLink::kEndToEnd,
                             .open = 1,
                             .open_max = 3},
                            {waits});
  for (int i = 0; i < 5; ++i) pipeline.Submit({.number = i, .items = Numbers(i, 1)});
  EXPECT_EQ(pipeline.Sample().open, 1);
  EXPECT_EQ(pipeline.Sample().waiting, 4);
  pipeline.SetOpenRequests(3);
  EXPECT_EQ(pipeline.Sample().open, 3);
  EXPECT_EQ(pipeline.Sample().open_requests, 3);
  pipeline.SetOpenRequests(1);  // Takes none away.
  EXPECT_EQ(pipeline.Sample().open, 3);
  door.Open();
  End();
  EXPECT_EQ(results_.size(), 5u);
}

TEST_F(PipelineTest, WhatALaneThrowsEndsThePipeline) {
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

TEST_F(PipelineTest, RefusesAStageThatWaitsWithoutALimit) {
  try {
    Make({.stages = {{.name = "reads", .waits = true}}}, {Adds()});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("stages.reads.parallel"));
  }
}

TEST_F(PipelineTest, RandomResizesFailuresAndCancelsAnswerEachRequestOnce) {
  const StageFactory splits = [] {
    return MakeNativeStage([](StageCall& call, int piece) {
      const int number = call.Batch().items.front().payload.As<int>();
      if (number % 37 == 36) throw std::runtime_error("36");
      if (piece < number % 3) call.Emit(Payload::Of(number + piece, sizeof(int)));
      return piece + 1 < number % 3;
    });
  };
  Pipeline& pipeline = Make({.stages = {{.name = "splits", .emits_many = true},
                                        {.name = "adds", .from = {.items = 12}},
                                        {.name = "waits", .parallel = 2, .waits = true},
                                        {.name = "sums", .from = {.hands = Gate::Hands::kWhole}}},
                             .open = 2,
                             .open_max = 4},
                            {splits, Adds(), Adds(), Adds()}, 4);
  Random random(5);
  std::vector<int> expected;
  for (int i = 0; i < 400; ++i) {
    pipeline.Submit({.number = i, .items = Numbers(i, static_cast<int>(random.Below(6)))});
    if (i % 3 == 0) {
      const int inter = static_cast<int>(random.Below(5));
      const CpuSet cores = CpuSet::Range(0, std::min(2, inter) - 1);
      pipeline.Pools().Resize(cores, {inter, std::min(2, inter)});
    }
    if (i % 7 == 0) pipeline.SetOpenRequests(1 + static_cast<int>(random.Below(4)));
    if (i % 11 == 0) pipeline.Cancel(i - 2, "left");
  }
  pipeline.Pools().Resize(CpuSet::Range(0, 1), {2, 2});
  End();
  EXPECT_EQ(results_.size(), 400u);
  int done = 0;
  for (const auto& [number, result] : results_) {
    if (result.answer.status != Status::kDone) continue;
    ++done;
    EXPECT_EQ(result.answer.payloads.size(), 1u);
  }
  EXPECT_GT(done, 200);
  ExpectEmpty();
}

}  // namespace
}  // namespace cosched
