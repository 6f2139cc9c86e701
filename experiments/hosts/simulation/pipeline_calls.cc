#include "experiments/hosts/simulation/pipeline_calls.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/portable_math.h"

namespace cosched {
namespace {

void CheckNumbersOf(const StageSpec& stage, const StageCost& cost) {
  const auto check = [&stage](const std::string& key, double value) {
    if (value >= 0 && std::isfinite(value)) return;
    RefuseStage(stage, key, std::to_string(value), "0 or more");
  };
  check("per_call_s", cost.per_call_s);
  check("per_item_s", cost.per_item_s);
  check("store_bytes_per_item", cost.store_bytes_per_item);
  check("noise", cost.noise);
  check("emits_per_call", cost.emits_per_call);
  check("emits_per_item", cost.emits_per_item);
  check("item_bytes", static_cast<double>(cost.item_bytes));
  check("kept_bytes", cost.kept_bytes);
  check("piece_s", cost.piece_s);
}

}  // namespace

void CheckCosts(const PipelineSpec& spec, const std::vector<StageCost>& costs) {
  if (costs.size() != spec.stages.size()) {
    throw InputError({.key = "stages",
                      .problem = "costs of " + std::to_string(costs.size()) + " stages",
                      .allowed = "as many as there are, " + std::to_string(spec.stages.size())});
  }
  for (size_t stage = 0; stage < costs.size(); ++stage)
    CheckNumbersOf(spec.stages[stage], costs[stage]);
}

int CallsThatWait(const std::vector<StageSpec>& stages) {
  int calls = 0;
  for (const StageSpec& stage : stages) {
    if (!stage.waits) continue;
    if (stage.parallel == 0) {
      RefuseStage(stage, "parallel", "a stage that waits with any number of calls at once",
                  "1 or more, or a number of waiting_lanes");
    }
    calls += stage.parallel;
  }
  return calls;
}

PipelineCalls::PipelineCalls(PipelineState* state, std::vector<StageCost> costs,
                             const Random& random)
    : state_(state), costs_(std::move(costs)) {
  const std::vector<StageSpec>& stages = state->Layout().spec.stages;
  CheckCosts(state->Layout().spec, costs_);
  for (const StageSpec& stage : stages) streams_.push_back(random.Derive(stage.name));
  ended_.resize(stages.size());
  taken_.resize(stages.size());
}

PipelineCalls::Id PipelineCalls::FreeSlot() {
  if (unused_.empty()) {
    slots_.emplace_back();
    return static_cast<Id>(slots_.size()) - 1;
  }
  const Id id = unused_.back();
  unused_.pop_back();
  return id;
}

int64_t PipelineCalls::DrawEmits(int stage, int64_t items) {
  if (!state_->Layout().Stage(stage).emits_many) return 1;
  const StageCost& cost = Cost(stage);
  const double mean = cost.emits_per_call + cost.emits_per_item * static_cast<double>(items);
  const double whole = std::floor(mean);
  const bool more = mean > whole && streams_[static_cast<size_t>(stage)].Uniform() < mean - whole;
  return static_cast<int64_t>(whole) + (more ? 1 : 0);
}

double PipelineCalls::DrawFactor(int stage) {
  const StageCost& cost = Cost(stage);
  Random& stream = streams_[static_cast<size_t>(stage)];
  if (cost.distribution == StageCost::Distribution::kExponential) return stream.Exponential(1);
  return cost.noise > 0 ? PortableExp(stream.Normal(0, cost.noise)) : 1;
}

PipelineCalls::Id PipelineCalls::Take(const PipelineState::Call& call, int machine) {
  if (call.resumed) {
    const auto found = std::ranges::find(slots_, call.id, &Call::call);
    CHECK(found != slots_.end()) << "call " << call.id << " was never begun";
    return static_cast<Id>(found - slots_.begin());
  }
  const Id id = FreeSlot();
  const StageCost& cost = Cost(call.stage);
  const auto items = static_cast<int64_t>(call.batch.items.size());
  int64_t bytes = 0;
  Foreign elsewhere;
  for (const Item& item : call.batch.items) {
    bytes += item.payload.Bytes();
    if (machine == kNoMachine || item.payload.As<MadeOn>().machine == machine) continue;
    ++elsewhere.items;
    elsewhere.bytes += item.payload.Bytes();
  }
  const double work =
      (cost.per_call_s + cost.per_item_s * static_cast<double>(items)) * DrawFactor(call.stage);
  const int64_t emits = DrawEmits(call.stage, items);
  const auto parts = static_cast<double>(std::max<int64_t>(1, emits));
  const auto kept = std::llround(cost.kept_bytes * static_cast<double>(bytes) / parts);
  At(id) = {.call = call.id,
            .stage = call.stage,
            .machine = machine,
            .elsewhere = elsewhere,
            .taken = items,
            .emits = emits,
            .bytes = cost.item_bytes + kept,
            .part = work / parts,
            .part_store = cost.store_bytes_per_item * static_cast<double>(items) / parts};
  return id;
}

PipelineCalls::After PipelineCalls::EndPart(Id id) {
  Call& call = At(id);
  if (call.emitted < call.emits && !state_->Cancelled(call.call)) {
    Payload payload = call.machine == kNoMachine ? Payload::OfBytes(call.bytes)
                                                 : Payload::Of(MadeOn{call.machine}, call.bytes);
    if (!state_->Emit(call.call, std::move(payload))) {
      state_->Park(call.call);
      return After::kParked;
    }
    ++call.emitted;
    if (call.emitted < call.emits) return After::kGoesOn;
  }
  state_->Finish(call.call);
  ++ended_[static_cast<size_t>(call.stage)];
  taken_[static_cast<size_t>(call.stage)] += call.taken;
  call.call = -1;
  unused_.push_back(id);
  return After::kOver;
}

double PipelineCalls::UntilPieceEnds(Id id, double left) const {
  const double piece = Cost(Stage(id)).piece_s;
  return piece > 0 ? std::fmod(left, piece) : left;
}

}  // namespace cosched
