// What a rank does that shrinks, pauses, can't serve, or can't go on.

#include "engine/gates/rank_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/gates/queue_link.h"
#include "engine/gates/remote_lanes.h"
#include "tests/engine/gates/number_stages.h"

namespace cosched {
namespace {

using ::testing::ElementsAre;

// Its own end of the call, after it goes on, is nothing to anybody.
TEST(RankWorkerTest, OthersMakeWhatAPausedRankGivesBack) {
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
TEST(RankWorkerTest, Rank0MakesWhatAPausedRankGivesBack) {
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

// Nobody waits for it any more, which whoever gets it next has to hear.
TEST(RankWorkerTest, ACallGivenBackOfACancelledRequestIsNotMadeElsewhere) {
  constexpr int kMostPieces = 1'000'000;
  std::atomic<int> there{0}, pieces{0};
  std::vector<RankStages> stages;
  for (size_t rank = 0; rank < 3; ++rank) {
    const StageFactory make = [&, rank] {
      return MakeNativeStage([&, rank](StageCall& call, int) {
        if (rank == 1) {
          ++there;
          there.notify_all();
        }
        std::this_thread::yield();
        if (rank == 2 && ++pieces == kMostPieces) return false;
        return !call.Cancelled();
      });
    };
    stages.push_back({.make = {make}, .travels = {NumbersTravel()}});
  }
  RankGroup group(OneStageSpec(1), stages, /*here=*/0);
  group.Remote().Resize(2, {});
  while (group.PoolsOf(2).Current().inter != 0) std::this_thread::yield();
  group.OfRank0().Submit({0, SomeNumbers(3, 1)});
  there.wait(0);
  group.Remote().Resize(1, {.gives_back = true});
  while (group.PoolsOf(1).Current().inter != 0) std::this_thread::yield();
  group.OfRank0().Cancel(0, "nobody waits");
  // Those that are away; none once it has been given back.
  while (!group.OfRank0().CancelledRemote().empty()) std::this_thread::yield();
  group.Remote().Resize(2, {.cores = CpuSet{0}});
  group.Await(0);
  EXPECT_LT(pieces, kMostPieces);
  group.End();
}

// It had asked for more while it had more lanes.
TEST(RankWorkerTest, AShrunkRankGetsNoMoreThanItsLanesCanMake) {
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

TEST(RankWorkerTest, APausedRankServesAsWell) {
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
TEST(RankWorkerTest, ARankHearsWhereItsOtherThreadsAreToBe) {
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

TEST(RankWorkerTest, WhatIsAPersonsFaultIsToldAsSuch) {
  const auto fails = [](int64_t number, StageCall&) -> int64_t {
    if (number == 5) throw InputError({.key = "items", .problem = "five is no number"});
    throw std::runtime_error("no memory");
  };
  RankGroup group(OneStageSpec(2), OnRanks(2, fails, nullptr), /*here=*/0);
  for (int64_t i = 5; i < 7; ++i) {
    group.OfRank0().Submit({i, SomeNumbers(i, 1)});
    group.Await(i);
  }
  group.End();
  group.Close();
  EXPECT_TRUE(group.Results().at(5).answer.bad_input);
  EXPECT_FALSE(group.Results().at(6).answer.bad_input);
}

// What it would make its worker of is wrong.
TEST(RankWorkerTest, ARankThatCanNotServeEndsThePipelineWithItsReason) {
  for (const bool bad_input : {true, false}) {
    const RankStages stages = OneStage(AddOneTo, nullptr, 0);
    QueueLinks links(2);
    Pipeline pipeline(OneStageSpec(1), stages.make, {}, [](const PipelineResult&) {});
    pipeline.Pools().Resize(CpuSet{0}, {1, 1});
    std::thread rank_1([&] {
      EXPECT_FALSE(MakeOrRefuse(&links.Of(1), [&]() -> int {
        if (bad_input) throw InputError({.key = "reference", .problem = "is no file"});
        throw std::runtime_error("no memory");
      }));
    });
    {
      RemoteLanes remote(&pipeline, &links.Of(0), stages.travels);
      pipeline.Begin();
      try {
        remote.WaitForRanks();
        ADD_FAILURE() << "it serves";
      } catch (const InputError& error) {
        EXPECT_TRUE(bad_input);
        EXPECT_STREQ(error.what(), "rank 1: reference: is no file");
      } catch (const LinkError& error) {
        EXPECT_FALSE(bad_input);
        EXPECT_STREQ(error.what(), "rank 1 can't serve: no memory");
      }
      EXPECT_ANY_THROW(pipeline.WaitUntilOver());
    }
    rank_1.join();
  }
}

// A link that breaks under a lane, which nobody waits for.
TEST(RankWorkerTest, ALaneThatCanNotGoOnEndsTheRank) {
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

}  // namespace
}  // namespace cosched
