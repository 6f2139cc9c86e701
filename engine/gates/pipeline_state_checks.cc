// What is told of a pipeline's state, and whether it is sound.

#include <algorithm>
#include <functional>

#include "engine/base/check.h"
#include "engine/gates/pipeline_state.h"

namespace cosched {

std::vector<StageSample> PipelineState::Sample() const {
  std::vector<StageSample> samples;
  for (int stage = 0; stage < layout_->Egress(); ++stage) {
    const Gate& gate = GateAt(stage);
    StageSample& sample = samples.emplace_back();
    sample.batches = gate.Batches();
    for (const CallRecord& call : calls_) {
      if (call.stage == stage) ++(call.parked ? sample.parked : sample.running);
    }
    sample.items = gate.Items();
    sample.bytes = gate.Bytes();
    sample.requests = gate.Requests();
    sample.open = gate.Open();
    const int closes = layout_->At(stage).closes;
    sample.credits = closes < 0 ? 0 : LinkAt(closes).Out();
    sample.dropped = gate.Dropped() + dropped_[static_cast<size_t>(stage)];
  }
  return samples;
}

std::vector<PipelineState::CallView> PipelineState::Calls() const {
  std::vector<CallView> views;
  for (const CallRecord& call : calls_) {
    views.push_back({.id = call.id,
                     .stage = call.stage,
                     .request = Find(call.request).admitted,
                     .refused = call.refused >= 0,
                     .parked = call.parked,
                     .ended = IsOver(Find(call.request)),
                     .emitted = call.emitted});
  }
  return views;
}

void PipelineState::CheckInvariants() const {
  for (const Gate& gate : gates_) gate.CheckInvariants();
  CheckLinks();
  CheckCalls();
  const auto ended = std::ranges::count(records_, true, &Record::over);
  CHECK(std::ssize(endings_) == ended)
      << endings_.size() << " endings of " << ended << " requests that are over";
  for (const Record& record : records_) {
    const bool over = IsOver(record);
    CHECK(!over || Find(record.admitted).calls > 0)
        << "request " << record.id.value << " is over, but was not answered";
    for (const Gate& gate : gates_) {
      CHECK(!over || !gate.Holds(record.id))
          << "request " << record.id.value << " is over, but has items";
    }
  }
}

// Whether the request is between the gate where it takes a credit of this link and where it gives
// it back.
bool PipelineState::ShouldHold(const Record& record, int link) const {
  const PipelineLayout::Level& level = layout_->LevelAt(record.level);
  bool holds = level.enters == link;
  for (int gate = 0; gate < layout_->Egress(); ++gate) {
    const PipelineLayout::Place& place = layout_->At(gate);
    if (place.level != record.level) continue;
    const bool closed = record.At(gate).closed;
    if (place.opens == link) holds = closed || GateAt(gate).IsOpen(record.id);
    if (place.closes == link && closed) holds = false;
  }
  return holds;
}

void PipelineState::CheckLinks() const {
  for (size_t link = 0; link < links_.size(); ++link) {
    int out = 0;
    for (const Record& record : records_) {
      out += record.holds[link] ? 1 : 0;
      // Whoever is over keeps what it had, until its calls have ended.
      CHECK(IsOver(record) || record.holds[link] == ShouldHold(record, static_cast<int>(link)))
          << "request " << record.id.value << (record.holds[link] ? " has a" : " has no")
          << " credit of link " << link;
    }
    CHECK(links_[link].Out() == out)
        << links_[link].Out() << " credits of link " << link << " are out, " << out << " are held";
  }
}

void PipelineState::CheckCalls() const {
  for (int stage = 0; stage < layout_->Egress(); ++stage) {
    const int parallel = layout_->Stage(stage).parallel;
    CHECK(parallel == 0 || Occupied(stage) <= parallel)
        << Occupied(stage) << " calls of " << layout_->Stage(stage).name;
    for (const Record& record : records_) {
      int calls = 0, owed = 0;
      for (const CallRecord& call : calls_) {
        const Record& caller = Find(call.request);
        if (call.stage != stage || caller.admitted != record.admitted) continue;
        calls += caller.id == record.id ? 1 : 0;
        const bool owes = !layout_->Stage(stage).emits_many && call.emitted == 0;
        owed += owes && TargetOf(caller, stage + 1).id == record.id ? 1 : 0;
      }
      for (const Record& partition : records_) {
        calls +=
            partition.parent == record.id && layout_->LevelAt(partition.level).partition == stage
                ? 1
                : 0;
      }
      CHECK(record.At(stage).calls == calls && (IsOver(record) || record.At(stage).owed == owed))
          << "request " << record.id.value << " has " << calls << " calls at "
          << layout_->Stage(stage).name << ", not " << record.At(stage).calls;
    }
  }
  for (const Record& record : records_) {
    if (record.level > 0) continue;
    const auto calls = std::ranges::count_if(
        calls_, [&](const CallRecord& call) { return Find(call.request).admitted == record.id; });
    CHECK(record.calls == calls) << "request " << record.id.value << " has " << calls << " calls";
  }
}

uint64_t PipelineState::Fingerprint() const {
  std::vector<int64_t> words;
  words.reserve(256);
  const std::function<int64_t(RequestId)> rank = [this](RequestId id) {
    return std::ranges::lower_bound(records_, id, {}, &Record::id) - records_.begin();
  };
  words.push_back(open_);
  for (const Gate& gate : gates_) gate.AddTo(&words, rank);
  for (const Credits& link : links_) words.insert(words.end(), {link.Capacity(), link.Out()});
  for (const Record& record : records_) {
    words.insert(words.end(), {rank(record.parent), record.level, record.index, record.over});
    for (const Passage& passage : record.passages) {
      words.insert(words.end(), {passage.calls, passage.owed, passage.batches, passage.numbered,
                                 passage.emitted, passage.closed});
    }
    for (const bool held : record.holds) words.push_back(held);
  }
  for (const CallRecord& call : calls_) {
    words.insert(words.end(),
                 {call.stage, rank(call.request), call.emitted, call.refused, call.parked});
    for (const int32_t part : call.base.Parts()) words.push_back(part);
  }
  for (const PipelineAnswer& answer : answers_) {
    words.insert(words.end(), {answer.request.value, static_cast<int64_t>(answer.status)});
  }
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const int64_t word : words) {  // The finaliser of MurmurHash3, word by word.
    hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 33;
    hash *= 0xc4ceb9fe1a85ec53u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace cosched
