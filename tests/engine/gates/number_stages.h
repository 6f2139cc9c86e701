#pragma once
// Stages whose items are numbers, on several ranks, for tests of these.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "tests/engine/gates/rank_group.h"

namespace cosched {

inline StageTravel NumbersTravel() { return {NumberCodec(), NumberCodec()}; }

inline std::vector<Payload> SomeNumbers(int64_t first, int64_t count) {
  std::vector<Payload> payloads;
  for (int64_t i = 0; i < count; ++i) payloads.push_back(Payload::Of(first + i, sizeof(int64_t)));
  return payloads;
}

inline std::vector<int64_t> NumbersOf(const PipelineResult& result) {
  std::vector<int64_t> numbers;
  for (const Payload& payload : result.answer.payloads) numbers.push_back(payload.As<int64_t>());
  return numbers;
}

// Calls of a stage, by rank.
using CallsByRank = std::array<std::atomic<int>, 4>;

// What becomes of an item; throws for one that is to fail.
using OnNumber = std::function<int64_t(int64_t number, StageCall& call)>;

inline RankStages OneStage(const OnNumber& on_number, CallsByRank* calls, size_t rank) {
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

inline std::vector<RankStages> OnRanks(int ranks, const OnNumber& on_number, CallsByRank* calls) {
  std::vector<RankStages> stages;
  for (int rank = 0; rank < ranks; ++rank) {
    stages.push_back(OneStage(on_number, calls, static_cast<size_t>(rank)));
  }
  return stages;
}

inline int64_t AddOneTo(int64_t number, StageCall& /*call*/) { return number + 1; }

inline PipelineSpec OneStageSpec(int open) {
  return {.stages = {{.name = "add"}}, .open = open, .open_max = open};
}

}  // namespace cosched
