#include <algorithm>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "engine/gates/pipeline_impl.h"
#include "engine/gates/pipeline_layout.h"
#include "engine/pool/lanes.h"

namespace cosched {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Of stages that wait: a lane for each of their calls.
size_t WaitingLanes(const PipelineSpec& spec) {
  int lanes = 0;
  for (const StageSpec& stage : spec.stages) {
    if (!stage.waits) continue;
    if (stage.parallel < 1) {
      RefuseStage(stage, "parallel", "no limit, of a stage that waits", "1 or more");
    }
    lanes += stage.parallel;
  }
  return static_cast<size_t>(lanes);
}

const PipelineSpec& Checked(const PipelineSpec& spec) {
  Check(spec);
  return spec;
}

}  // namespace

Pipeline::Impl::Impl(const PipelineSpec& specification, std::vector<StageFactory> stage_factories,
                     const PipelineSettings& settings,
                     std::function<void(PipelineResult)> when_answered)
    : spec(Checked(specification)),
      answered(std::move(when_answered)),
      objects(std::move(stage_factories)),
      state(spec),
      totals(spec.stages.size()),
      computing(&mutex, "lane", static_cast<size_t>(settings.capacity.inter)),
      waiting(&mutex, "wait", WaitingLanes(spec)),
      pools(settings.capacity, settings.binding, settings.topology, settings.waiting) {
  CHECK(objects.Stages() == spec.stages.size())
      << objects.Stages() << " factories for " << spec.stages.size() << " stages";
  for (int lane = 0; lane < settings.capacity.inter; ++lane) {
    steps.push_back(std::make_unique<WorkerSteps>(&pools.inter()));
  }
  pools.OnWorkersAdded([this] { OpenLanes(); });
}

Pipeline::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex);
    closing = true;
  }
  computing.Stop();
  waiting.Stop();
}

void Pipeline::Impl::OpenLanes() {
  const std::lock_guard lock(mutex);
  computing.Open(static_cast<size_t>(pools.Current().inter));
}

void Pipeline::Impl::Serve(LaneKind kind, size_t lane) {
  try {
    while (std::unique_ptr<Call> call = Next(kind, lane)) {
      while (call) call = Make(std::move(call), kind, lane);
    }
  } catch (...) {
    const std::lock_guard lock(mutex);
    broken = true;
    computing.WakeAll();
    waiting.WakeAll();
    throw;
  }
}

// Blocks until there is a call for this lane; null if there is no more to come.
std::unique_ptr<Pipeline::Impl::Call> Pipeline::Impl::Next(LaneKind kind, size_t lane) {
  Lanes& lanes = LanesOf(kind);
  std::unique_lock lock(mutex);
  while (!MustEnd()) {
    std::unique_ptr<Call> call;
    if (!lanes.IsOpen(lane) || !Begin(kind, &call)) {
      lanes.Sleep(lane, &lock);
      continue;
    }
    std::vector<PipelineResult> results = Follow();
    lock.unlock();
    Answer(std::move(results));
    if (call) return call;
    lock.lock();
  }
  return nullptr;
}

// Begins the call that is to be made next, or goes on with it; false if there is none. No call is
// left of one that only emitted some of what it had kept, from which there is something to follow, too.
bool Pipeline::Impl::Begin(LaneKind kind, std::unique_ptr<Call>* call) {
  if (kind == LaneKind::kComputes && !returned.empty()) {
    *call = std::move(returned.front());
    returned.pop_front();
    return true;
  }
  std::optional<PipelineState::Call> next = state.Next(kind);
  if (!next) return false;
  *call = next->resumed ? GoOn(next->id) : std::make_unique<Call>(this, *std::move(next), kind);
  return true;
}

// Until the call is over or parked; of those that are made in pieces also the lane's next calls, on
// the same worker: handing each over from the lane's thread and back would take longer than many of
// them. What is left is the lane's, if anything is.
std::unique_ptr<Pipeline::Impl::Call> Pipeline::Impl::Make(std::unique_ptr<Call> call,
                                                           LaneKind kind, size_t lane) {
  GiveStage(call.get());
  if (kind == LaneKind::kWaits || !call->InPieces()) {
    while (call->Runs()) RunStage(call.get());
    return Leave(std::move(call), kind, lane);
  }
  steps[lane]->Run([&] {
    call->wakes_later = true;
    if (call->Runs()) RunStage(call.get());
    if (call->Runs()) {
      if (std::exchange(call->emitted, false)) {
        const std::lock_guard lock(mutex);
        Wake();
      }
      return true;
    }
    call = Leave(std::move(call), kind, lane);
    if (call) GiveStage(call.get());
    return call && call->InPieces();
  });
  return call;
}

// Ends or parks the call, and begins the lane's next one.
std::unique_ptr<Pipeline::Impl::Call> Pipeline::Impl::Leave(std::unique_ptr<Call> call,
                                                            LaneKind kind, size_t lane) {
  const bool over = call->kept.empty() || call->why;
  // What the batch held, and what found no room, is gone, files too, when the request has its answer.
  if (over) {
    call->Batch().items.clear();
    call->kept.clear();
  }
  std::vector<PipelineResult> results;
  std::unique_ptr<Call> next;
  {
    const std::lock_guard lock(mutex);
    if (over) {
      EndCall(call.get());
    } else {
      state.Park(call->Id());
      const int64_t id = call->Id();
      parked.emplace(id, std::move(call));
    }
    Admit(&results);
    // On fewer workers than calls, those that wait for a worker come before what has not begun.
    const bool first = kind == LaneKind::kWaits || pools.inter().Queued() == 0;
    if (first && !MustEnd() && LanesOf(kind).IsOpen(lane)) {
      while (!next && Begin(kind, &next)) Admit(&results);
    }
    Wake();
  }
  Answer(std::move(results));
  return next;
}

// The object that makes the call, if it has none yet.
void Pipeline::Impl::GiveStage(Call* call) {
  if (call->stage || !call->Runs()) return;
  try {
    call->stage = objects.Take(call->StageIndex());
  } catch (...) {
    call->why = WhyStageThrew();
  }
}

void Pipeline::Impl::RunStage(Call* call) {
  try {
    call->more = call->stage->Run(*call);
  } catch (...) {
    call->why = WhyStageThrew();
  }
}

void Pipeline::Impl::Emit(Call* call, Payload payload) {
  std::vector<PipelineResult> results;
  {
    const std::lock_guard lock(mutex);
    call->kept.push_back(std::move(payload));
    // After a refusal the state takes nothing until the call was parked.
    if (call->kept.size() > 1 || !state.Emit(call->Id(), std::move(call->kept.front()))) return;
    call->kept.pop_front();
    Admit(&results);
    if (call->wakes_later) {
      call->emitted = true;
    } else {
      Wake();
    }
  }
  Answer(std::move(results));
}

// The parked call, once what it kept has found room; null if some of it has not, and it is parked
// again.
std::unique_ptr<Pipeline::Impl::Call> Pipeline::Impl::GoOn(int64_t id) {
  const auto found = parked.find(id);
  std::deque<Payload>& kept = found->second->kept;
  while (!kept.empty()) {
    if (!state.Emit(id, std::move(kept.front()))) {
      state.Park(id);
      return nullptr;
    }
    kept.pop_front();
  }
  return std::move(parked.extract(found).mapped());
}

bool Pipeline::Impl::Cancelled(int64_t call) const {
  const std::lock_guard lock(mutex);
  return closing || broken || state.Cancelled(call);
}

void Pipeline::Impl::EndCall(Call* call) {
  if (call->why) {
    state.Fail(call->Id(), call->why->why, call->why->bad_input);
    TellRemote();
  } else {
    state.Finish(call->Id());
  }
  if (call->stage) objects.GiveBack(call->StageIndex(), std::move(call->stage));
  Totals& total = totals[call->StageIndex()];
  ++total.calls;
  total.taken += call->taken;
  total.busy += call->busy;
  total.lasted += SteadyClock::now() - call->begun;
}

// What follows from any change: admissions and answers, which are to be given without the lock …
void Pipeline::Impl::Admit(std::vector<PipelineResult>* results) {
  const SteadyClock::time_point now = SteadyClock::now();
  do {
    while (!submitted.empty() && state.CanAdmit()) {
      Submitted next = std::move(submitted.front());
      submitted.pop_front();
      inside[state.NextRequest()] = {next.request.number, next.when, now};
      state.Admit(std::move(next.request.items));
    }
    for (PipelineAnswer& answer : state.TakeAnswers()) {
      results->push_back(ResultOf(std::move(answer), now));
    }
  } while (!submitted.empty() && state.CanAdmit());
}

// … and work for lanes that sleep.
std::vector<PipelineResult> Pipeline::Impl::Follow() {
  std::vector<PipelineResult> results;
  Admit(&results);
  Wake();
  return results;
}

void Pipeline::Impl::Wake() {
  if (IsOver()) {
    computing.WakeAll();
    waiting.WakeAll();
    return;
  }
  for (const LaneKind kind : {LaneKind::kComputes, LaneKind::kWaits}) {
    const bool computes = kind == LaneKind::kComputes;
    if (!state.HasNext(kind) && !(computes && !returned.empty())) continue;
    LanesOf(kind).WakeOne();
    if (computes && remote_news.work) remote_news.work();
  }
}

PipelineResult Pipeline::Impl::ResultOf(PipelineAnswer answer, SteadyClock::time_point now) {
  const Inside request = inside.extract(answer.request).mapped();
  PipelineResult result{.number = request.number,
                        .submitted = request.submitted,
                        .admitted = request.admitted,
                        .ended = now};
  if (answer.stage >= 0) result.stage = spec.stages[static_cast<size_t>(answer.stage)].name;
  result.answer = std::move(answer);
  return result;
}

void Pipeline::Impl::Answer(std::vector<PipelineResult> results) const {
  for (PipelineResult& result : results) answered(std::move(result));
}

void Pipeline::Impl::Cancel(int64_t number, const std::string& why) {
  std::vector<PipelineResult> results;
  {
    const std::lock_guard lock(mutex);
    const auto waits = std::ranges::find_if(
        submitted, [number](const Submitted& other) { return other.request.number == number; });
    const auto admitted = std::ranges::find_if(
        inside, [number](const auto& other) { return other.second.number == number; });
    if (waits != submitted.end()) {
      const SteadyClock::time_point now = SteadyClock::now();
      results.push_back({.number = number,
                         .answer = {.status = PipelineAnswer::Status::kCancelled, .why = why},
                         .submitted = waits->when,
                         .admitted = now,
                         .ended = now});
      submitted.erase(waits);
    } else if (admitted != inside.end()) {
      state.Cancel(admitted->first, why);
      TellRemote();
    }
    std::ranges::move(Follow(), std::back_inserter(results));
  }
  Answer(std::move(results));
}

Pipeline::Pipeline(const PipelineSpec& spec, std::vector<StageFactory> stages,
                   const PipelineSettings& settings, std::function<void(PipelineResult)> answered)
    : impl_(std::make_unique<Impl>(spec, std::move(stages), settings, std::move(answered))) {}

Pipeline::~Pipeline() = default;

void Pipeline::Begin() {
  impl_->OpenLanes();
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->waiting.Open(impl_->waiting.Count());
  }
  for (const LaneKind kind : {LaneKind::kComputes, LaneKind::kWaits}) {
    Impl& impl = *impl_;
    impl.LanesOf(kind).Start([&impl, kind](size_t lane) { impl.Serve(kind, lane); });
  }
}

ThreadPools& Pipeline::Pools() { return impl_->pools; }

void Pipeline::Submit(PipelineRequest request) {
  std::vector<PipelineResult> results;
  {
    const std::lock_guard lock(impl_->mutex);
    CHECK(!impl_->drained) << "request " << request.number << " comes after the last one";
    impl_->submitted.push_back({std::move(request), SteadyClock::now()});
    results = impl_->Follow();
  }
  impl_->Answer(std::move(results));
}

void Pipeline::Cancel(int64_t number, const std::string& why) { impl_->Cancel(number, why); }

void Pipeline::SetOpenRequests(int count) {
  std::vector<PipelineResult> results;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->state.SetOpenRequests(count);
    results = impl_->Follow();
  }
  impl_->Answer(std::move(results));
}

void Pipeline::Drain() {
  const std::lock_guard lock(impl_->mutex);
  impl_->drained = true;
  impl_->Wake();
}

void Pipeline::WaitUntilOver() {
  impl_->computing.WaitUntilOver();
  impl_->waiting.WaitUntilOver();
}

PipelineSample Pipeline::Sample() const {
  const std::lock_guard lock(impl_->mutex);
  PipelineSample sample;
  const std::vector<StageSample> stages = impl_->state.Sample();
  for (size_t i = 0; i < stages.size(); ++i) {
    const Impl::Totals& total = impl_->totals[i];
    PipelineSample::Stage& stage = sample.stages.emplace_back();
    static_cast<StageSample&>(stage) = stages[i];
    stage.name = impl_->spec.stages[i].name;
    stage.waits = impl_->spec.stages[i].waits;
    stage.calls = total.calls;
    stage.taken = total.taken;
    stage.busy = total.busy;
    stage.lasted = total.lasted;
  }
  sample.waiting = static_cast<int64_t>(impl_->submitted.size());
  sample.open = static_cast<int64_t>(impl_->inside.size());
  sample.open_requests = impl_->state.OpenRequests();
  return sample;
}

}  // namespace cosched
