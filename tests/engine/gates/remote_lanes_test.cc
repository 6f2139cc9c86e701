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
#include "tests/engine/gates/rank_group.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Status = PipelineAnswer::Status;

PayloadCodec NumberCodec() {
  return {.encode =
              [](const Payload& payload) {
                PackedWriter writer;
                writer.Number(payload.As<int64_t>());
                return writer.Take();
              },
          .decode =
              [](std::string_view bytes, const Payload* /*origin*/) {
                PackedReader reader(bytes);
                const auto number = reader.Number<int64_t>();
                reader.End();
                return Payload::Of(number, sizeof number);
              }};
}

StageTravel NumbersTravel() { return {NumberCodec(), NumberCodec()}; }

std::vector<Payload> SomeNumbers(int64_t first, int64_t count) {
  std::vector<Payload> payloads;
  for (int64_t i = 0; i < count; ++i) payloads.push_back(Payload::Of(first + i, sizeof(int64_t)));
  return payloads;
}

std::vector<int64_t> NumbersOf(const PipelineResult& result) {
  std::vector<int64_t> numbers;
  for (const Payload& payload : result.answer.payloads) numbers.push_back(payload.As<int64_t>());
  return numbers;
}

// Calls of a stage, by rank.
using CallsByRank = std::array<std::atomic<int>, 4>;

// What becomes of an item; throws for one that is to fail.
using OnNumber = std::function<int64_t(int64_t number, StageCall& call)>;

RankStages OneStage(const OnNumber& on_number, CallsByRank* calls, size_t rank) {
  const StageFactory make = [=] {
    return MakeNativeStage([=](StageCall& call, int) {
      if (calls != nullptr) ++(*calls)[rank];
      const int64_t number = call.Batch().items.front().payload.As<int64_t>();
      call.Emit(Payload::Of(on_number(number, call), sizeof(int64_t)));
      return false;
    });
  };
  return {.make = {make}, .travels = {NumbersTravel()}};
}

std::vector<RankStages> OnRanks(int ranks, const OnNumber& on_number, CallsByRank* calls) {
  std::vector<RankStages> stages;
  for (int rank = 0; rank < ranks; ++rank) {
    stages.push_back(OneStage(on_number, calls, static_cast<size_t>(rank)));
  }
  return stages;
}

int64_t AddOneTo(int64_t number, StageCall& /*call*/) { return number + 1; }

PipelineSpec OneStageSpec(int open) {
  return {.stages = {{.name = "add"}}, .open = open, .open_max = open};
}

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

// Its own end of the call, after it goes on, is nothing to anybody.
TEST(RemoteLanesTest, OthersMakeWhatAPausedRankGivesBack) {
  std::atomic<bool> may_end{false};
  std::array<std::atomic<int>, 3> pieces{}, ended{};
  std::vector<RankStages> stages;
  for (size_t rank = 0; rank < 3; ++rank) {
    const StageFactory make = [&, rank] {
      return MakeNativeStage([&, rank](StageCall& call, int) {
        ++pieces[rank];
        pieces[rank].notify_all();
        if (rank == 1 && !may_end && !call.Cancelled()) return true;
        if (!call.Cancelled()) ++ended[rank];
        call.Emit(std::move(call.Batch().items.front().payload));
        return false;
      });
    };
    stages.push_back({.make = {make}, .travels = {NumbersTravel()}});
  }
  RankGroup group(OneStageSpec(1), stages, /*here=*/0);
  group.Remote().Resize(2, {});
  while (group.PoolsOf(2).Current().inter != 0) std::this_thread::yield();
  group.OfRank0().Submit({0, SomeNumbers(3, 1)});
  pieces[1].wait(0);
  group.Remote().Resize(1, {.gives_back = true});
  group.Remote().Resize(2, {.cores = CpuSet{0}});
  group.Await(0);
  EXPECT_EQ(ended[2], 1);
  // It goes on, and has no more to say of that one, but may make the next.
  group.Remote().Resize(2, {});
  group.Remote().Resize(1, {.cores = CpuSet{0}});
  may_end = true;
  group.OfRank0().Submit({1, SomeNumbers(5, 1)});
  group.Await(1);
  EXPECT_THAT(NumbersOf(group.Results().at(0)), ElementsAre(3));
  EXPECT_THAT(NumbersOf(group.Results().at(1)), ElementsAre(5));
  group.End();
  EXPECT_FALSE(group.answered_twice);
  EXPECT_EQ(group.OfRank0().Sample().stages[0].calls, 2);
}

// Nor does it matter that nobody but rank 0 has a core.
TEST(RemoteLanesTest, Rank0MakesWhatAPausedRankGivesBack) {
  std::atomic<int> there{0};
  const auto waits_elsewhere = [&](size_t rank) {
    return StageFactory([&, rank] {
      return MakeNativeStage([&, rank](StageCall& call, int) {
        if (rank == 1 && !call.Cancelled()) {
          ++there;
          there.notify_all();
          std::this_thread::yield();
          return true;
        }
        call.Emit(std::move(call.Batch().items.front().payload));
        return false;
      });
    });
  };
  RankGroup group(OneStageSpec(1),
                  {{.make = {waits_elsewhere(0)}, .travels = {NumbersTravel()}},
                   {.make = {waits_elsewhere(1)}, .travels = {NumbersTravel()}}},
                  /*here=*/0);
  group.OfRank0().Submit({0, SomeNumbers(3, 4)});
  there.wait(0);
  group.Remote().Resize(1, {.gives_back = true});
  group.OfRank0().Pools().Resize(CpuSet{0}, {1, 1});
  group.Await(0);
  EXPECT_THAT(NumbersOf(group.Results().at(0)), ElementsAre(3, 4, 5, 6));
  group.End();
}

// It had asked for more while it had more lanes.
TEST(RemoteLanesTest, AShrunkRankGetsNoMoreThanItsLanesCanMake) {
  std::atomic<int> runs{0}, most{0};
  std::atomic<bool> may_end{false};
  const StageFactory make = [&] {
    return MakeNativeStage([&](StageCall& call, int piece) {
      if (piece == 0) most = std::max(most.load(), ++runs);
      runs.notify_all();
      std::this_thread::yield();
      if (!may_end) return true;
      --runs;
      call.Emit(std::move(call.Batch().items.front().payload));
      return false;
    });
  };
  const RankStages stages{.make = {make}, .travels = {NumbersTravel()}};
  RankGroup group(OneStageSpec(8), {stages, stages}, /*here=*/0, /*threads=*/4);
  group.Remote().WaitForRanks();
  group.Remote().Resize(1, {.cores = CpuSet{0}});
  for (int64_t i = 0; i < 8; ++i) group.OfRank0().Submit({i, SomeNumbers(i, 2)});
  runs.wait(0);
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_EQ(group.OfRank0().Sample().stages[0].running, 1);
  may_end = true;
  for (int64_t i = 0; i < 8; ++i) group.Await(i);
  EXPECT_EQ(most, 1);
  group.End();
}

TEST(RemoteLanesTest, APausedRankServesAsWell) {
  const std::vector<RankStages> stages = OnRanks(3, AddOneTo, nullptr);
  QueueLinks links(3);
  Pipeline pipeline(OneStageSpec(1), stages[0].make, {}, [](const PipelineResult&) {});
  pipeline.Pools().Resize(CpuSet{0}, {1, 1});
  pipeline.Begin();
  std::vector<std::thread> ranks;
  {
    RemoteLanes remote(&pipeline, &links.Of(0), stages[0].travels);
    for (const int rank : {1, 2}) {
      ranks.emplace_back(
          [&, rank] { RankWorker(&links.Of(rank), stages[1].make, stages[1].travels, {}).Run(); });
    }
    remote.WaitForRanks();
    pipeline.Drain();
    pipeline.WaitUntilOver();
  }
  for (std::thread& rank : ranks) rank.join();
}

// Its other threads are moved after each resize that says where to.
TEST(RemoteLanesTest, ARankHearsWhereItsOtherThreadsAreToBe) {
  const RankStages stages = OneStage(AddOneTo, nullptr, 1);
  QueueLinks links(2);
  RankWorker worker(&links.Of(1), stages.make, stages.travels, {.capacity = {2, 2}});
  std::vector<CpuSet> homes;
  worker.OnHome([&](const CpuSet& home) {
    homes.push_back(home);
    links.Of(0).Send(1, Encode(RanksClosed{}));
  });
  // Of several at once only the last counts.
  links.Of(0).Send(1, Encode(RankResized{.cpus = {0}, .home = {0}}));
  links.Of(0).Send(1, Encode(RankResized{.cpus = {0, 1}, .inter = 9, .intra = 2, .home = {0, 1}}));
  worker.Run();
  EXPECT_THAT(homes, ElementsAre(CpuSet::Range(0, 1)));
  EXPECT_EQ(worker.Pools().Wanted().split, (Split{2, 2}));
}

// A link that breaks under a lane, which nobody waits for.
TEST(RemoteLanesTest, ALaneThatCanNotGoOnEndsTheRank) {
  class Broken : public RankLink {
   public:
    explicit Broken(RankLink* link) : link_(*link) {}
    int Rank() const override { return link_.Rank(); }
    int Size() const override { return link_.Size(); }
    void Send(int to, std::string message) override {
      if (std::holds_alternative<CallFinished>(DecodeRankMessage(message)))
        throw std::runtime_error("no memory for a message");
      link_.Send(to, std::move(message));
    }
    std::optional<Received> Receive(std::chrono::microseconds wait) override {
      return link_.Receive(wait);
    }
    void Wake() override { link_.Wake(); }

   private:
    RankLink& link_;
  };
  const RankStages stages = OneStage(AddOneTo, nullptr, 1);
  QueueLinks links(2);
  Broken link(&links.Of(1));
  RankWorker worker(&link, stages.make, stages.travels, {});
  worker.Pools().Resize(CpuSet{0}, {1, 1});
  links.Of(0).Send(1, Encode(CallSent{.items = {{Ordinal(0), std::string(8, 'x')}}}));
  EXPECT_THROW(worker.Run(), std::runtime_error);
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
