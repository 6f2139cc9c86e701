#include "engine/gates/pipeline_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/base/check.h"

namespace cosched {

PipelineState::PipelineState(const PipelineSpec& spec)
    : layout_(std::make_shared<const PipelineLayout>(spec)), open_(spec.open) {
  for (int i = 0; i < layout_->Egress(); ++i) {
    gates_.emplace_back(layout_->Stage(i).from, layout_->At(i).shares);
  }
  gates_.emplace_back(Gate::Options{.name = "egress", .hands = Gate::Hands::kWhole}, 1);
  for (const PipelineLayout::Link& link : layout_->links) links_.emplace_back(link.capacity);
  dropped_.resize(spec.stages.size());
}

const PipelineState::Record& PipelineState::Find(RequestId id) const {
  const auto found = std::ranges::lower_bound(records_, id, {}, &Record::id);
  CHECK(found != records_.end() && found->id == id) << "no request " << id.value;
  return *found;
}

PipelineState::Record& PipelineState::Find(RequestId id) {
  return const_cast<Record&>(std::as_const(*this).Find(id));
}

const PipelineState::CallRecord& PipelineState::FindCall(int64_t id) const {
  const auto found = std::ranges::lower_bound(calls_, id, {}, &CallRecord::id);
  CHECK(found != calls_.end() && found->id == id) << "no call " << id;
  return *found;
}

PipelineState::CallRecord& PipelineState::FindCall(int64_t id) {
  return const_cast<CallRecord&>(std::as_const(*this).FindCall(id));
}

void PipelineState::TakeCredit(int link, Record* record) {
  if (link < 0) return;
  links_[static_cast<size_t>(link)].Take();
  record->holds[static_cast<size_t>(link)] = true;
}

void PipelineState::ReturnCredit(int link, Record* record) {
  if (link < 0) return;
  CHECK(record->holds[static_cast<size_t>(link)])
      << "request " << record->id.value << " gives back a credit that it has not";
  links_[static_cast<size_t>(link)].Return();
  record->holds[static_cast<size_t>(link)] = false;
}

PipelineState::Record& PipelineState::Add(RequestId parent, int level) {
  Record& record = records_.emplace_back();
  record.id = {next_request_++};
  record.parent = parent;
  record.admitted = level == 0 ? record.id : Find(parent).admitted;
  record.level = level;
  record.passages.resize(layout_->spec.stages.size());
  record.holds.resize(links_.size());
  TakeCredit(layout_->LevelAt(level).enters, &record);
  return record;
}

bool PipelineState::CanAdmit() const {
  return links_[static_cast<size_t>(layout_->LevelAt(0).enters)].Left() > 0;
}

RequestId PipelineState::Admit(std::vector<Payload> items) {
  CHECK(CanAdmit()) << "no credit for one more request";
  const RequestId id = Add({}, 0).id;
  for (size_t i = 0; i < items.size(); ++i) {
    At(0).Put(id, {Ordinal(static_cast<int64_t>(i)), std::move(items[i])});
  }
  Tell(0, id, static_cast<int64_t>(items.size()));
  Settle();
  return id;
}

// The request that the gate knows, of which this one is a partition if it is not that itself.
const PipelineState::Record& PipelineState::TargetOf(const Record& record, int gate) const {
  const Record* target = &record;
  while (target->level != layout_->At(gate).level) target = &Find(target->parent);
  return *target;
}

// What an ordinal in this request is in the one that the gate knows.
Ordinal PipelineState::Below(const Record& record, int gate, Ordinal ordinal) const {
  const Record* at = &record;
  for (; at->level != layout_->At(gate).level; at = &Find(at->parent)) {
    ordinal = ordinal.Under(at->index);
  }
  return ordinal;
}

Ordinal PipelineState::NextOrdinal(const CallRecord& call) const {
  const Record& record = Find(call.request);
  Ordinal ordinal = call.base;
  if (layout_->At(call.stage).numbers) {
    ordinal = Ordinal(record.At(call.stage).numbered);
  } else if (layout_->Stage(call.stage).emits_many) {
    ordinal = ordinal.Then(call.emitted);
  }
  return Below(record, call.stage + 1, ordinal);
}

bool PipelineState::HasRoom(const CallRecord& call, int64_t bytes) const {
  const int below = call.stage + 1;
  const Record& target = TargetOf(Find(call.request), below);
  const bool owes = !layout_->Stage(call.stage).emits_many && call.emitted == 0;
  const int64_t promised = target.At(call.stage).owed - (owes ? 1 : 0);
  return GateAt(below).HasRoom(target.id, NextOrdinal(call), bytes, promised);
}

// Whether there will be room for the first item that a new call emits: of a byte, as nobody knows.
bool PipelineState::MayTake(int stage, RequestId request, const Ordinal& first) const {
  const PipelineLayout::Place& place = layout_->At(stage);
  const int below = stage + 1;
  if (layout_->Partitions(stage) && layout_->At(below).level == place.call_level) return true;
  const Record& record = Find(request);
  const Record& target = TargetOf(record, below);
  Ordinal ordinal = first;
  if (layout_->Stage(stage).from.hands == Gate::Hands::kMany) {
    ordinal = Ordinal(record.At(stage).batches);
  }
  if (place.numbers) ordinal = Ordinal(record.At(stage).numbered);
  return GateAt(below).HasRoom(target.id, ordinal, 1, target.At(stage).owed);
}

int PipelineState::Occupied(int stage) const {
  return static_cast<int>(std::ranges::count(calls_, stage, &CallRecord::stage));
}

std::optional<PipelineState::Call> PipelineState::Next(LaneKind kind) {
  for (int stage = layout_->Egress() - 1; stage >= 0; --stage) {
    if (layout_->Stage(stage).waits != (kind == LaneKind::kWaits)) continue;
    if (std::optional<Call> call = NextOf(stage)) return call;
  }
  return std::nullopt;
}

std::optional<PipelineState::Call> PipelineState::NextOf(int stage, bool may_begin) {
  if (const CallRecord* parked = Resumable(stage)) return Resume(parked->id);
  return may_begin ? BeginOf(stage) : std::nullopt;
}

std::optional<PipelineState::Call> PipelineState::BeginOf(int stage) {
  const std::optional<RequestId> request = Startable(stage);
  if (!request) return std::nullopt;
  return Start(stage, *request);
}

bool PipelineState::HasNext(LaneKind kind) const {
  for (int stage = layout_->Egress() - 1; stage >= 0; --stage) {
    if (layout_->Stage(stage).waits != (kind == LaneKind::kWaits)) continue;
    if (Resumable(stage) != nullptr || Startable(stage)) return true;
  }
  return false;
}

const PipelineState::CallRecord* PipelineState::Resumable(int stage) const {
  for (const CallRecord& call : calls_) {
    if (call.stage != stage || !call.parked) continue;
    if (IsOver(Find(call.request)) || HasRoom(call, call.refused)) return &call;
  }
  return nullptr;
}

PipelineState::Call PipelineState::Resume(int64_t id) {
  CallRecord& call = FindCall(id);
  call.parked = false;
  call.refused = -1;
  const RequestId admitted = Find(call.request).admitted;
  return {.id = id, .stage = call.stage, .resumed = true, .request = admitted};
}

std::optional<RequestId> PipelineState::Startable(int stage) const {
  const PipelineLayout::Place& place = layout_->At(stage);
  const int parallel = layout_->Stage(stage).parallel;
  if (parallel > 0 && Occupied(stage) >= parallel) return std::nullopt;
  if (layout_->Partitions(stage) && LinkAt(layout_->LevelAt(place.call_level).enters).Left() == 0) {
    return std::nullopt;
  }
  const int credits =
      place.opens < 0 ? std::numeric_limits<int>::max() : LinkAt(place.opens).Left();
  return GateAt(stage).Ready(credits, [this, stage](RequestId id, const Ordinal& first) {
    return MayTake(stage, id, first);
  });
}

PipelineState::Call PipelineState::Start(int stage, RequestId request) {
  const PipelineLayout::Place& place = layout_->At(stage);
  Gate::Taken taken = At(stage).Take(request);
  for (const RequestId opened : taken.opened) TakeCredit(place.opens, &Find(opened));
  CallRecord& call = calls_.emplace_back();
  call = {.id = next_call_++, .stage = stage, .request = request};
  if (!taken.batch.items.empty()) call.first = taken.batch.items.front().ordinal;
  Passage& passage = Find(request).At(stage);
  const int64_t batch = passage.batches++;
  ++passage.calls;
  call.base = layout_->Stage(stage).from.hands == Gate::Hands::kMany ? Ordinal(batch) : call.first;
  if (layout_->Partitions(stage)) {
    Record& partition = Add(request, place.call_level);
    partition.index = batch;
    partition.At(stage) = {.calls = 1, .batches = 1, .closed = true};
    call.request = taken.batch.request = partition.id;
  }
  const Record& record = Find(call.request);
  if (!layout_->Stage(stage).emits_many) ++Find(TargetOf(record, stage + 1).id).At(stage).owed;
  const RequestId admitted = record.admitted;
  ++Find(admitted).calls;
  Call started{.id = call.id, .stage = stage, .request = admitted, .batch = std::move(taken.batch)};
  if (taken.closed) Closed(stage, request);
  Settle();
  return started;
}

bool PipelineState::Emit(int64_t id, Payload&& payload) {
  CallRecord& call = FindCall(id);
  CHECK(!call.parked && call.refused < 0) << "call " << id << " emits though it was refused";
  Record& record = Find(call.request);
  const StageSpec& stage = layout_->Stage(call.stage);
  int64_t& dropped = dropped_[static_cast<size_t>(call.stage)];
  if (!IsOver(record) && !stage.emits_many && call.emitted > 0) {
    EndEarly(record.admitted, {.status = PipelineAnswer::Status::kFailed,
                               .stage = call.stage,
                               .item = Below(record, 0, call.first),
                               .why = "a call that makes one item emitted two"});
  }
  if (IsOver(record)) {
    ++dropped;
    return true;
  }
  const int64_t bytes = payload.Bytes();
  if (!HasRoom(call, bytes)) {
    call.refused = bytes;
    return false;
  }
  Record& target = Find(TargetOf(record, call.stage + 1).id);
  At(call.stage + 1).Put(target.id, {NextOrdinal(call), std::move(payload)});
  if (!stage.emits_many) --target.At(call.stage).owed;
  ++target.At(call.stage).emitted;
  ++record.At(call.stage).numbered;
  ++call.emitted;
  return true;
}

void PipelineState::Park(int64_t id) {
  CallRecord& call = FindCall(id);
  CHECK(!call.parked && call.refused >= 0) << "call " << id << " was not refused";
  call.parked = true;
}

void PipelineState::Finish(int64_t id) {
  const CallRecord& call = FindCall(id);
  CHECK(!call.parked && call.refused < 0)
      << "call " << id << " ends, but what it made does not fit";
  const Record& record = Find(call.request);
  if (!layout_->Stage(call.stage).emits_many && call.emitted == 0) {
    EndEarly(record.admitted, {.status = PipelineAnswer::Status::kFailed,
                               .stage = call.stage,
                               .item = Below(record, 0, call.first),
                               .why = "a call that makes one item emitted none"});
  }
  EndCall(id);
  Settle();
}

void PipelineState::Fail(int64_t id, const std::string& why, bool bad_input) {
  const CallRecord& call = FindCall(id);
  CHECK(!call.parked) << "call " << id << " fails, but nobody makes it";
  const Record& record = Find(call.request);
  EndEarly(record.admitted, {.status = PipelineAnswer::Status::kFailed,
                             .stage = call.stage,
                             .item = Below(record, 0, call.first),
                             .why = why,
                             .bad_input = bad_input});
  EndCall(id);
  Settle();
}

void PipelineState::Cancel(RequestId request, const std::string& why) {
  if (!std::ranges::binary_search(records_, request, {}, &Record::id)) return;
  CHECK(Find(request).level == 0) << "request " << request.value << " is a partition";
  EndEarly(request, {.status = PipelineAnswer::Status::kCancelled, .why = why});
  EndIfQuiet(request);
  Settle();
}

bool PipelineState::Cancelled(int64_t call) const { return IsOver(Find(FindCall(call).request)); }

std::vector<PipelineAnswer> PipelineState::TakeAnswers() { return std::exchange(answers_, {}); }

void PipelineState::SetOpenRequests(int count) {
  CHECK(count >= 1 && count <= layout_->spec.open_max)
      << count << " open requests, of " << layout_->spec.open_max << " at most";
  open_ = count;
  for (size_t i = 0; i < links_.size(); ++i) {
    const PipelineLayout::Link& link = layout_->links[i];
    if (link.level == 0) links_[i].SetCapacity(PipelineLayout::CapacityOf(link, count));
  }
  Settle();
}

// All items of the request at this gate were taken.
void PipelineState::Closed(int gate, RequestId id) {
  Record& record = Find(id);
  ReturnCredit(layout_->At(gate).closes, &record);
  record.At(gate).closed = true;
  if (record.At(gate).calls == 0) Conclude(id, gate);
}

// All that the request's calls at this stage, or the partitions that it makes, emit was emitted.
void PipelineState::Conclude(RequestId id, int stage) {
  const Record& record = Find(id);
  const PipelineLayout::Place& place = layout_->At(stage);
  const bool partitions = layout_->Partitions(stage) && record.level == place.level;
  const int gate = partitions ? layout_->LevelAt(place.call_level).join : stage + 1;
  if (layout_->At(gate).level == record.level) {
    Tell(gate, id, record.At(gate - 1).emitted);
  } else {
    EndPartition(id);
  }
}

void PipelineState::Tell(int gate, RequestId id, int64_t count) {
  if (At(gate).Tell(id, count)) Closed(gate, id);
}

void PipelineState::EndPartition(RequestId id) {
  Record& record = Find(id);
  const PipelineLayout::Level& level = layout_->LevelAt(record.level);
  const RequestId parent = record.parent;
  ReturnCredit(level.ends, &record);
  std::erase_if(records_, [id](const Record& other) { return other.id == id; });
  Passage& passage = Find(parent).At(level.partition);
  --passage.calls;
  if (passage.closed && passage.calls == 0) Conclude(parent, level.partition);
}

void PipelineState::EndCall(int64_t id) {
  const CallRecord call = FindCall(id);
  std::erase_if(calls_, [id](const CallRecord& other) { return other.id == id; });
  Record& record = Find(call.request);
  Record& admitted = Find(record.admitted);
  --admitted.calls;
  Passage& passage = record.At(call.stage);
  --passage.calls;
  if (admitted.over) return EndIfQuiet(admitted.id);
  if (passage.closed && passage.calls == 0) Conclude(record.id, call.stage);
}

void PipelineState::EndDone(RequestId id) {
  PipelineAnswer answer{.request = id};
  Gate::Taken taken = At(layout_->Egress()).Take(id);
  for (Item& item : taken.batch.items) answer.payloads.push_back(std::move(item.payload));
  Record& record = Find(id);
  ReturnCredit(layout_->LevelAt(0).ends, &record);
  std::erase_if(records_, [id](const Record& other) { return other.id == id; });
  answers_.push_back(std::move(answer));
}

// The request's items are dropped wherever they are; it ends when the last of its calls is over.
void PipelineState::EndEarly(RequestId admitted, PipelineAnswer answer) {
  if (Find(admitted).over) return;
  Find(admitted).over = true;
  for (const Record& record : records_) {
    if (record.admitted != admitted) continue;
    for (Gate& gate : gates_) gate.Drop(record.id);
  }
  answer.request = admitted;
  endings_.push_back(std::move(answer));
}

void PipelineState::EndIfQuiet(RequestId admitted) {
  if (!Find(admitted).over || Find(admitted).calls > 0) return;
  for (Record& record : records_) {
    if (record.admitted != admitted) continue;
    for (size_t link = 0; link < links_.size(); ++link) {
      if (record.holds[link]) ReturnCredit(static_cast<int>(link), &record);
    }
  }
  std::erase_if(records_, [admitted](const Record& record) { return record.admitted == admitted; });
  const auto ending = std::ranges::find(endings_, admitted, &PipelineAnswer::request);
  answers_.push_back(std::move(*ending));
  endings_.erase(ending);
}

// What needs no call: requests without items go on where there is a credit for them, and complete
// ones leave by the egress.
void PipelineState::Settle() {
  for (bool changed = true; changed;) {
    changed = false;
    for (int gate = 0; gate < layout_->Egress(); ++gate) {
      const int opens = layout_->At(gate).opens;
      const bool may_open = opens < 0 || LinkAt(opens).Left() > 0;
      const std::optional<RequestId> empty = At(gate).Empty(may_open);
      if (!empty) continue;
      if (!At(gate).IsOpen(*empty)) TakeCredit(opens, &Find(*empty));
      At(gate).Pass(*empty);
      Closed(gate, *empty);
      changed = true;
    }
    const auto any = [](RequestId, const Ordinal&) { return true; };
    while (const std::optional<RequestId> done =
               At(layout_->Egress()).Ready(std::numeric_limits<int>::max(), any)) {
      EndDone(*done);
      changed = true;
    }
  }
}

}  // namespace cosched
