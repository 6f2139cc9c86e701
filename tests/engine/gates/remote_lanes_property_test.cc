// Drawn pipelines on drawn ranks give the answers that one rank gives, whatever is resized, cancelled
// or fails on the way. Without COSCHED_STRESS_SECONDS some hundred of them; with it, for as long as
// it says.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/gates/packed_bytes.h"
#include "tests/engine/gates/rank_group.h"

namespace cosched {
namespace {

using Hands = Gate::Hands;
using Status = PipelineAnswer::Status;

constexpr int kUnbroken = -1;

// Of items, however they were put together.
struct Leaves {
  int64_t sum = 0;
  int64_t count = 0;
  int32_t breaks_at = kUnbroken;  // The stage that is to throw.
  bool operator==(const Leaves&) const = default;
};

PayloadCodec LeavesCodec() {
  return {.encode =
              [](const Payload& payload) {
                const auto& leaves = payload.As<Leaves>();
                PackedWriter writer;
                writer.Number(leaves.sum);
                writer.Number(leaves.count);
                writer.Number(leaves.breaks_at);
                return writer.Take();
              },
          .decode =
              [](std::string_view bytes, const Payload* /*origin*/) {
                PackedReader reader(bytes);
                Leaves leaves;
                leaves.sum = reader.Number<int64_t>();
                leaves.count = reader.Number<int64_t>();
                leaves.breaks_at = reader.Number<int32_t>();
                reader.End();
                return Payload::Of(leaves, 8 + leaves.count % 3 * 4);
              }};
}

Payload OfLeaves(const Leaves& leaves) { return Payload::Of(leaves, 8 + leaves.count % 3 * 4); }

struct Drawn {
  PipelineSpec spec;
  std::vector<bool> travels;  // By stage.
  int pieces = 1;
  int ranks = 2, here = 1, threads = 1;
};

StageSpec DrawnRankStage(Random* random, int index, int level, int open) {
  const auto one_in = [random](uint64_t n) { return random->Below(n) == 0; };
  StageSpec stage{.name = "stage " + std::to_string(index)};
  stage.from.hands = static_cast<Hands>(random->Below(4));
  if (stage.from.hands == Hands::kMany || stage.from.hands == Hands::kPartition) {
    stage.from.batch = 1 + static_cast<int>(random->Below(3));
  }
  const bool bounded = index > 0 && stage.from.hands != Hands::kWhole;
  if (bounded && one_in(3)) stage.from.items = open * (stage.from.batch + 1);
  if (bounded && one_in(3)) stage.from.bytes = 16 * open * stage.from.batch;
  stage.joins = static_cast<int>(random->Below(static_cast<uint64_t>(level) + 1));
  stage.parallel = static_cast<int>(random->Below(4));
  stage.waits = stage.parallel > 0 && one_in(4);
  stage.emits_many = one_in(4);
  stage.inner_open = 1 + static_cast<int>(random->Below(2));
  return stage;
}

Drawn DrawPipeline(Random* random) {
  while (true) {
    Drawn drawn;
    PipelineSpec& spec = drawn.spec;
    spec.link = random->Below(2) == 0 ? CreditLink::kLinear : CreditLink::kEndToEnd;
    spec.open_max = 1 + static_cast<int>(random->Below(3));
    spec.open = 1 + static_cast<int>(random->Below(static_cast<uint64_t>(spec.open_max)));
    int level = 0;
    const auto stages = 1 + static_cast<int>(random->Below(4));
    for (int i = 0; i < stages; ++i) {
      spec.stages.push_back(DrawnRankStage(random, i, level, spec.open_max));
      const StageSpec& stage = spec.stages.back();
      level += (stage.from.hands == Hands::kPartition ? 1 : 0) - stage.joins;
      drawn.travels.push_back(!stage.waits && !stage.emits_many && random->Below(4) != 0);
    }
    drawn.pieces = 1 + static_cast<int>(random->Below(3));
    drawn.ranks = 2 + static_cast<int>(random->Below(3));
    drawn.here = 1 + static_cast<int>(random->Below(2));
    drawn.threads = 1 + static_cast<int>(random->Below(2));
    try {
      Check(spec);
      return drawn;
    } catch (const InputError&) {
    }
  }
}

// Each leaf gets 10 to the stage's index more.
StageFactory MakeLeafStage(const Drawn& drawn, size_t index) {
  const bool many = drawn.spec.stages[index].emits_many;
  int64_t more = 1;
  for (size_t i = 0; i < index; ++i) more *= 10;
  return [=, pieces = drawn.pieces] {
    return MakeNativeStage([=](StageCall& call, int piece) {
      if (piece + 1 < pieces) return true;
      Leaves all;
      for (const Item& item : call.Batch().items) {
        const auto& leaves = item.payload.As<Leaves>();
        if (leaves.breaks_at == static_cast<int32_t>(index)) throw std::runtime_error("broken");
        all.sum += leaves.sum;
        all.count += leaves.count;
        all.breaks_at = std::max(all.breaks_at, leaves.breaks_at);
      }
      all.sum += more * all.count;
      call.Emit(OfLeaves(all));
      if (many) call.Emit(OfLeaves({}));
      return false;
    });
  };
}

RankStages StagesOf(const Drawn& drawn) {
  RankStages stages;
  for (size_t i = 0; i < drawn.spec.stages.size(); ++i) {
    stages.make.push_back(MakeLeafStage(drawn, i));
    stages.travels.push_back(
        drawn.travels[i] ? std::optional(StageTravel{LeavesCodec(), LeavesCodec()}) : std::nullopt);
  }
  return stages;
}

// A request, and what must become of it if it is not cancelled.
struct DrawnRequest {
  std::vector<Leaves> items;
  Leaves sum;
  int breaks_at = kUnbroken;
};

DrawnRequest DrawRequest(Random* random, size_t stages) {
  DrawnRequest request;
  const auto count = static_cast<int64_t>(random->Below(6));
  for (int64_t i = 0; i < count; ++i) {
    request.items.push_back({.sum = static_cast<int64_t>(random->Below(1000)), .count = 1});
    request.sum.sum += request.items.back().sum;
    for (int64_t more = 1, stage = 0; stage < static_cast<int64_t>(stages); ++stage, more *= 10) {
      request.sum.sum += more;
    }
  }
  request.sum.count = count;
  if (count > 0 && random->Below(4) == 0) {
    request.breaks_at = static_cast<int>(random->Below(stages));
    request.items[random->Below(static_cast<uint64_t>(count))].breaks_at = request.breaks_at;
  }
  return request;
}

void ExpectAnswer(const PipelineResult& result, const DrawnRequest& request, bool cancelled,
                  const PipelineSpec& spec) {
  const PipelineAnswer& answer = result.answer;
  if (cancelled && answer.status == Status::kCancelled) return;
  if (request.breaks_at != kUnbroken) {
    EXPECT_EQ(answer.status, Status::kFailed);
    EXPECT_EQ(answer.why, "broken");
    EXPECT_EQ(result.stage, spec.stages[static_cast<size_t>(request.breaks_at)].name);
    return;
  }
  EXPECT_EQ(answer.status, Status::kDone) << answer.why;
  Leaves sum;
  for (const Payload& payload : answer.payloads) {
    sum.sum += payload.As<Leaves>().sum;
    sum.count += payload.As<Leaves>().count;
  }
  EXPECT_EQ(sum, request.sum);
}

void RunDrawn(uint64_t seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  const Drawn drawn = DrawPipeline(&random);
  const std::vector<RankStages> stages(static_cast<size_t>(drawn.ranks), StagesOf(drawn));
  RankGroup group(drawn.spec, stages, drawn.here, drawn.threads);
  std::vector<DrawnRequest> requests;
  std::set<int64_t> cancelled;
  const auto count = 1 + static_cast<int64_t>(random.Below(12));
  for (int64_t i = 0; i < count; ++i) {
    requests.push_back(DrawRequest(&random, drawn.spec.stages.size()));
    std::vector<Payload> items;
    for (const Leaves& leaves : requests.back().items) items.push_back(OfLeaves(leaves));
    group.OfRank0().Submit({i, std::move(items)});
    if (random.Below(4) == 0) {
      const auto victim = static_cast<int64_t>(random.Below(static_cast<uint64_t>(i) + 1));
      cancelled.insert(victim);
      group.OfRank0().Cancel(victim, "not wanted");
    }
    if (random.Below(4) == 0) {
      const auto open =
          1 + static_cast<int>(random.Below(static_cast<uint64_t>(drawn.spec.open_max)));
      group.OfRank0().SetOpenRequests(open);
    }
    if (random.Below(4) == 0) {
      const auto rank = 1 + static_cast<int>(random.Below(static_cast<uint64_t>(drawn.ranks) - 1));
      const auto cores = static_cast<int>(random.Below(static_cast<uint64_t>(drawn.threads) + 1));
      group.Remote().Resize(rank, {.cores = CpuSet::Range(0, cores - 1),
                                   .split = {cores, cores},
                                   .gives_back = random.Below(2) == 0});
    }
  }
  // Calls of a rank that has no core wait for it.
  for (int rank = 1; rank < drawn.ranks; ++rank) group.Remote().Resize(rank, {.cores = CpuSet{0}});
  group.End();
  group.Close();
  EXPECT_FALSE(group.answered_twice);
  ASSERT_EQ(std::ssize(group.Results()), count);
  for (int64_t i = 0; i < count; ++i) {
    ExpectAnswer(group.Results().at(i), requests[static_cast<size_t>(i)], cancelled.contains(i),
                 drawn.spec);
  }
  for (int rank = 1; rank < drawn.ranks; ++rank) EXPECT_EQ(group.EndOf(rank), nullptr);
  for (const PipelineSample::Stage& stage : group.OfRank0().Sample().stages) {
    EXPECT_EQ(stage.running + stage.parked + stage.items + stage.requests, 0) << stage.name;
  }
}

TEST(RemoteLanesPropertyTest, AnswersAreThoseOfOneRank) {
  const char* const stress = std::getenv("COSCHED_STRESS_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(stress == nullptr ? 0 : atoi(stress));
  constexpr uint64_t kRuns = 300;
  for (uint64_t seed = 0; seed < kRuns || std::chrono::steady_clock::now() < end; ++seed) {
    RunDrawn(seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cosched
