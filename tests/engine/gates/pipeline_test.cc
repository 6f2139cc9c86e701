#include "engine/gates/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "tests/engine/gates/pipeline_fixture.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Status = PipelineAnswer::Status;

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
