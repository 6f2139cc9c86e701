#include "engine/gates/remote_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "engine/gates/packed_bytes.h"
#include "engine/gates/queue_link.h"
#include "engine/gates/rank_worker.h"
#include "tests/engine/gates/number_stages.h"
#include "tests/engine/gates/rank_group.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Status = PipelineAnswer::Status;

TEST(RemoteLanesTest, RanksMakeTheCallsOfARankThatHasNoCore) {
  CallsByRank calls{};
  RankGroup group(OneStageSpec(2), OnRanks(3, AddOneTo, &calls), /*here=*/0);
  for (int64_t i = 0; i < 50; ++i) group.OfRank0().Submit({i, SomeNumbers(100 * i, 4)});
  for (int64_t i = 0; i < 50; ++i) group.Await(i);
  group.End();
  group.Close();
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_THAT(NumbersOf(group.Results().at(i)),
                ElementsAre(100 * i + 1, 100 * i + 2, 100 * i + 3, 100 * i + 4));
  }
  EXPECT_EQ(calls[0], 0);
  EXPECT_EQ(calls[1] + calls[2], 200);
  EXPECT_FALSE(group.answered_twice);
  EXPECT_EQ(group.OfRank0().Sample().stages[0].calls, 200);
}

TEST(RemoteLanesTest, AStageThatDoesNotTravelStaysOnRank0) {
  CallsByRank first{}, second{};
  std::vector<RankStages> stages = OnRanks(2, AddOneTo, &first);
  const std::vector<RankStages> others = OnRanks(2, AddOneTo, &second);
  for (size_t rank = 0; rank < 2; ++rank) {
    stages[rank].make.push_back(others[rank].make[0]);
    stages[rank].travels.emplace_back();
  }
  const PipelineSpec spec{.stages = {{.name = "a"}, {.name = "b"}}, .open = 2, .open_max = 2};
  RankGroup group(spec, stages);
  for (int64_t i = 0; i < 20; ++i) group.OfRank0().Submit({i, SomeNumbers(i, 3)});
  group.End();
  group.Close();
  EXPECT_EQ(first[0] + first[1], 60);
  EXPECT_EQ(second[0], 60);
  EXPECT_EQ(second[1], 0);
  EXPECT_THAT(NumbersOf(group.Results().at(7)), ElementsAre(9, 10, 11));
}

TEST(RemoteLanesTest, WhatFailsThereFailsItsRequestOnly) {
  const auto fails_at_5 = [](int64_t number, StageCall&) {
    if (number == 5) throw std::runtime_error("five is no number");
    return number + 1;
  };
  RankGroup group(OneStageSpec(2), OnRanks(2, fails_at_5, nullptr), /*here=*/0);
  for (int64_t i = 0; i < 6; ++i) group.OfRank0().Submit({i, SomeNumbers(2 * i, 2)});
  for (int64_t i = 0; i < 6; ++i) group.Await(i);
  group.End();
  group.Close();
  for (const auto& [number, result] : group.Results()) {
    EXPECT_EQ(result.answer.status, number == 2 ? Status::kFailed : Status::kDone) << number;
  }
  EXPECT_EQ(group.Results().at(2).answer.why, "five is no number");
  EXPECT_EQ(group.Results().at(2).stage, "add");
  EXPECT_EQ(group.OfRank0().Sample().stages[0].requests, 0);
}

// What a call made waits on rank 0 where the gate below has no room for it.
TEST(RemoteLanesTest, WhatFindsNoRoomIsKeptUntilThereIs) {
  CallsByRank calls{};
  std::vector<RankStages> stages = OnRanks(2, AddOneTo, &calls);
  std::atomic<bool> open{false};
  for (RankStages& of_rank : stages) {
    of_rank.make.emplace_back([&] {
      return MakeNativeStage([&](StageCall& call, int) {
        open.wait(false);
        call.Emit(std::move(call.Batch().items.front().payload));
        return false;
      });
    });
    of_rank.travels.emplace_back();
  }
  // One is there, and one more would not fit, though a smaller one would.
  const PipelineSpec spec{
      .stages = {
          {.name = "add"},
          {.name = "write", .from = {.bytes = sizeof(int64_t) + 1}, .parallel = 1, .waits = true}}};
  RankGroup group(spec, stages, /*here=*/0);
  group.OfRank0().Submit({0, SomeNumbers(0, 5)});
  while (group.OfRank0().Sample().stages[0].parked == 0) std::this_thread::yield();
  open = true;
  open.notify_all();
  group.OfRank0().Pools().Resize(CpuSet{0}, {1, 1});
  group.Await(0);
  EXPECT_THAT(NumbersOf(group.Results().at(0)), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_GT(calls[1], 0);
  group.End();
}

// The last answer is given by a thread that is no lane of the pipeline.
TEST(RemoteLanesTest, ThePipelineIsNotOverBeforeItsAnswersAreGiven) {
  QueueLinks links(2);
  const RankStages stages = OneStage(AddOneTo, nullptr, 1);
  std::atomic<bool> begun{false}, may_end{false}, ended{false};
  Pipeline pipeline(OneStageSpec(1), stages.make, {}, [&](const PipelineResult&) {
    begun = true;
    begun.notify_all();
    may_end.wait(false);
    ended = true;
  });
  RankWorker worker(&links.Of(1), stages.make, stages.travels, {});
  worker.Pools().Resize(CpuSet{0}, {1, 1});
  std::thread rank_1([&] { worker.Run(); });
  pipeline.Begin();
  {
    RemoteLanes remote(&pipeline, &links.Of(0), stages.travels);
    pipeline.Submit({0, SomeNumbers(0, 1)});
    pipeline.Drain();
    begun.wait(false);
    std::thread waiter([&] {
      pipeline.WaitUntilOver();
      EXPECT_TRUE(ended);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    may_end = true;
    may_end.notify_all();
    waiter.join();
  }
  rank_1.join();
}

// A call that ends only when it is cancelled, and says when it runs.
TEST(RemoteLanesTest, CancellingEndsACallThatIsElsewhere) {
  std::atomic<bool> runs{false};
  const StageFactory make = [&] {
    return MakeNativeStage([&](StageCall&, int) {
      runs = true;
      runs.notify_all();
      std::this_thread::yield();
      return true;
    });
  };
  const RankStages stages{.make = {make}, .travels = {NumbersTravel()}};
  RankGroup group(OneStageSpec(1), {stages, stages}, /*here=*/0);
  group.OfRank0().Submit({7, SomeNumbers(0, 1)});
  runs.wait(false);
  group.OfRank0().Cancel(7, "not wanted any more");
  group.Await(7);
  EXPECT_EQ(group.Results().at(7).answer.status, Status::kCancelled);
  group.End();
  EXPECT_EQ(group.OfRank0().Sample().stages[0].running, 0);
}

TEST(RemoteLanesTest, APausedRankGoesOnLater) {
  std::atomic<int> piece_made{0};
  std::atomic<bool> may_end{false};
  const StageFactory make = [&] {
    return MakeNativeStage([&](StageCall& call, int) {
      ++piece_made;
      piece_made.notify_all();
      if (!may_end) return true;
      call.Emit(std::move(call.Batch().items.front().payload));
      return false;
    });
  };
  const RankStages stages{.make = {make}, .travels = {NumbersTravel()}};
  RankGroup group(OneStageSpec(1), {stages, stages}, /*here=*/0);
  group.OfRank0().Submit({0, SomeNumbers(3, 1)});
  piece_made.wait(0);
  group.Remote().Resize(1, {});
  ThreadPools& pools = group.PoolsOf(1);
  constexpr int kMostPieces = 1'000'000;  // A rank that never stops would make them.
  while ((!pools.Wanted().cores.Empty() || !pools.Settled()) && piece_made < kMostPieces)
    std::this_thread::yield();
  EXPECT_LT(piece_made, kMostPieces);
  const int made = piece_made;  // No worker is left that could make another one.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_EQ(piece_made, made);
  may_end = true;
  group.Remote().Resize(1, {.cores = CpuSet{0}});
  group.Await(0);
  EXPECT_THAT(NumbersOf(group.Results().at(0)), ElementsAre(3));
  group.End();
}

// What one emits too much must not end the rank, or be lost.
TEST(RemoteLanesTest, ACallThatEmitsTwoItemsWhereOneIsMeantFailsItsRequest) {
  const StageFactory make = [] {
    return MakeNativeStage([](StageCall& call, int) {
      call.Emit(Payload::Of<int64_t>(1, sizeof(int64_t)));
      call.Emit(Payload::Of<int64_t>(2, sizeof(int64_t)));
      return false;
    });
  };
  const RankStages stages{.make = {make}, .travels = {NumbersTravel()}};
  RankGroup group(OneStageSpec(1), {stages, stages}, /*here=*/0);
  group.OfRank0().Submit({0, SomeNumbers(0, 1)});
  group.Await(0);
  EXPECT_EQ(group.Results().at(0).answer.status, Status::kFailed);
  EXPECT_THAT(group.Results().at(0).answer.why, HasSubstr("second item"));
  group.End();
}

// While calls run there, calls wait and rank 0 has nothing to do.
TEST(RemoteLanesTest, ARankThatIsGoneEndsThePipelineWithAReason) {
  for (const int dead : {1, 2}) {
    std::atomic<bool> runs{false};
    const StageFactory make = [&] {
      return MakeNativeStage([&](StageCall& call, int) {
        runs = true;
        runs.notify_all();
        std::this_thread::yield();
        return !call.Cancelled();
      });
    };
    const RankStages stages{.make = {make}, .travels = {NumbersTravel()}};
    RankGroup group(OneStageSpec(2), {stages, stages, stages});
    for (int64_t i = 0; i < 5; ++i) group.OfRank0().Submit({i, SomeNumbers(0, 3)});
    runs.wait(false);
    group.Links().Kill(dead);
    try {
      group.End();
      ADD_FAILURE() << "rank " << dead << " is not missed";
    } catch (const LinkError& error) {
      EXPECT_EQ(error.what(), "rank " + std::to_string(dead) + " is gone");
    }
    // The others know, too, and end.
    group.Join();
    EXPECT_NE(group.EndOf(1), nullptr);
    EXPECT_NE(group.EndOf(2), nullptr);
  }
}

TEST(RemoteLanesTest, APausedRankEndsWhenAnotherIsGone) {
  std::atomic<bool> runs{false};
  const StageFactory make = [&] {
    return MakeNativeStage([&](StageCall& call, int) {
      runs = true;
      runs.notify_all();
      return !call.Cancelled();
    });
  };
  const RankStages stages{.make = {make}, .travels = {NumbersTravel()}};
  RankGroup group(OneStageSpec(1), {stages, stages}, /*here=*/0);
  group.OfRank0().Submit({0, SomeNumbers(0, 1)});
  runs.wait(false);
  group.Remote().Resize(1, {});
  group.Links().Kill(0);
  group.Join();
  EXPECT_NE(group.EndOf(1), nullptr);
}

TEST(RemoteLanesTest, ARankThatTellsOfWhatItDoesNotHaveIsRefused) {
  const std::vector<std::pair<RankMessage, std::string>> cases = {
      {CallFinished{.call = 3}, "rank 1 tells of a call that it does not have"},
      {CallFailed{.call = 0}, "rank 1 tells of a call that it does not have"},
      {CallsWanted{.stages = {1}, .calls = 1}, "rank 1 wants calls that it can't have"},
      {RanksClosed{}, "rank 1 sent what only rank 0 may send"}};
  for (const auto& [message, why] : cases) {
    RankGroup group(OneStageSpec(1), OnRanks(2, AddOneTo, nullptr));
    group.Links().Of(1).Send(0, Encode(message));
    try {
      group.OfRank0().WaitUntilOver();
      ADD_FAILURE() << why;
    } catch (const LinkError& error) {
      EXPECT_EQ(error.what(), why);
    }
  }
}

TEST(RemoteLanesTest, WhatCannotBeReadFailsItsRequest) {
  std::vector<RankStages> stages = OnRanks(2, AddOneTo, nullptr);
  stages[1].travels[0]->makes.encode = [](const Payload&) { return std::string("x"); };
  RankGroup group(OneStageSpec(1), stages, /*here=*/0);
  group.OfRank0().Submit({0, SomeNumbers(0, 1)});
  group.Await(0);
  EXPECT_EQ(group.Results().at(0).answer.status, Status::kFailed);
  EXPECT_THAT(group.Results().at(0).answer.why, HasSubstr("what rank 1 made is not readable"));
}

// What a call took stays on rank 0, and comes back to what the call made.
TEST(RemoteLanesTest, WhatDoesNotTravelIsFoundAgain) {
  struct Tied {
    std::shared_ptr<int> file;
    int64_t number = 0;
  };
  PayloadCodec codec{.encode =
                         [](const Payload& payload) {
                           PackedWriter writer;
                           writer.Number(payload.As<Tied>().number);
                           return writer.Take();
                         },
                     .decode =
                         [](std::string_view bytes, const Payload* origin) {
                           Tied tied{.file = origin == nullptr ? nullptr : origin->As<Tied>().file};
                           tied.number = PackedReader(bytes).Number<int64_t>();
                           return Payload::Of(tied, 8);
                         }};
  std::atomic<int> with_file{0};
  const StageFactory make = [&] {
    return MakeNativeStage([&](StageCall& call, int) {
      auto& tied = call.Batch().items.front().payload.As<Tied>();
      if (tied.file) ++with_file;
      ++tied.number;
      call.Emit(std::move(call.Batch().items.front().payload));
      return false;
    });
  };
  const RankStages stages{.make = {make}, .travels = {StageTravel{codec, codec}}};
  const auto file = std::make_shared<int>(17);
  {
    RankGroup group(OneStageSpec(1), {stages, stages}, /*here=*/0);
    group.OfRank0().Submit({0, {Payload::Of(Tied{file, 4}, 8)}});
    group.Await(0);
    const auto& tied = group.Results().at(0).answer.payloads.front().As<Tied>();
    EXPECT_EQ(tied.file, file);
    EXPECT_EQ(tied.number, 5);
    EXPECT_EQ(with_file, 0);
    group.End();
  }
  EXPECT_EQ(file.use_count(), 1);
}

}  // namespace
}  // namespace cosched
