#include "experiments/hosts/simulation/pipeline_model.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

int WaitingLanes(const PipelineModel::Settings& settings) {
  if (settings.waiting_lanes == 0) return CallsThatWait(settings.spec.stages);
  if (settings.waiting_lanes > 0) return settings.waiting_lanes;
  throw InputError({.key = "waiting_lanes",
                    .problem = std::to_string(settings.waiting_lanes),
                    .allowed = "0 or more"});
}

}  // namespace

PipelineModel::PipelineModel(const Settings& settings)
    : waiting_lanes_(WaitingLanes(settings)),
      state_(settings.spec),
      calls_(&state_, settings.costs, Random(settings.seed)),
      requests_(Payload::OfBytes(settings.item_bytes)),
      times_(settings.costs.size()) {
  for (size_t stage = 0; stage < settings.costs.size(); ++stage) {
    executions_.AddClock(1);
    helped_.push_back(settings.costs[stage].law.SpeedUp(2) > 1);
  }
}

void PipelineModel::Submit(int64_t number, int64_t items, TimePoint now) {
  Advance(now);
  requests_.Submit(number, items, now);
  GoOn(now);
}

void PipelineModel::Cancel(int64_t number, TimePoint now) {
  Advance(now);
  const std::optional<RequestId> inside = requests_.Cancel(number, now);
  if (!inside) return;
  state_.Cancel(*inside, "cancelled");
  ShortenCancelled(now);
  GoOn(now);
}

void PipelineModel::SetOpenRequests(int count, TimePoint now) {
  Advance(now);
  state_.SetOpenRequests(count);
  GoOn(now);
}

void PipelineModel::Resize(double cores, Split split, TimePoint now) {
  Advance(now);
  begun_ = true;
  cores_ = cores;
  split_ = cores > 0 && ThreadsOf(split) > 0 ? split : Split{0, 0};
  while (Busy() > split_.inter) {
    Stop(computing_.back(), now);
    stopped_.push_front(computing_.back());
    computing_.pop_back();
  }
  GoOn(now);
}

void PipelineModel::SetSpeed(double speed, TimePoint now) {
  Advance(now);
  speed_ = speed;
  UpdateSpeeds(now);
}

std::optional<TimePoint> PipelineModel::NextEvent() const {
  const std::optional<Executions::Completion> next = executions_.Next();
  if (!next) return std::nullopt;
  return NotBefore(next->time);
}

void PipelineModel::Advance(TimePoint now) {
  while (const std::optional<Executions::Completion> next = executions_.Next()) {
    const TimePoint time = NotBefore(next->time);
    if (time > now) return;
    EndPart(next->id, time);
    GoOn(time);
  }
}

// All that needs no time: requests come in and leave, and lanes take calls.
void PipelineModel::GoOn(TimePoint now) {
  for (bool changed = begun_; changed;) {
    changed = requests_.Admit(&state_, now);
    requests_.Collect(&state_, now);
    changed = Fill(LaneKind::kComputes, now) || changed;
    changed = Fill(LaneKind::kWaits, now) || changed;
  }
  UpdateSpeeds(now);
}

bool PipelineModel::HasLane(LaneKind kind) const {
  if (kind == LaneKind::kComputes) return Busy() < split_.inter;
  return static_cast<int>(in_waits_.size()) < waiting_lanes_;
}

bool PipelineModel::Fill(LaneKind kind, TimePoint now) {
  bool any = false;
  for (; HasLane(kind); any = true) {
    if (kind == LaneKind::kComputes && !stopped_.empty()) {
      computing_.push_back(stopped_.front());
      Run(stopped_.front(), now);
      stopped_.pop_front();
      continue;
    }
    const std::optional<PipelineState::Call> call = state_.Next(kind);
    if (!call) break;
    const Id id = calls_.Take(*call);
    if (!call->resumed) {
      times_.Begin(id, now);
      Begin(id, now);
      continue;
    }
    const PipelineCalls::After after = calls_.EndPart(id);
    if (after == PipelineCalls::After::kGoesOn) Begin(id, now);
    if (after == PipelineCalls::After::kOver) times_.End(id, call->stage, now);
  }
  return any;
}

// A lane begins the next part of the call.
void PipelineModel::Begin(Id id, TimePoint now) {
  (Waits(calls_.Stage(id)) ? in_waits_ : computing_).push_back(id);
  executions_.Add(id, calls_.Work(id));
  Run(id, now);
}

void PipelineModel::Run(Id id, TimePoint now) {
  times_.Run(id, now);
  executions_.SetRate(id, calls_.Stage(id), 1, ToSeconds(now));
}

void PipelineModel::Stop(Id id, TimePoint now) {
  times_.Stop(id, now);
  executions_.SetRate(id, calls_.Stage(id), 0, ToSeconds(now));
}

void PipelineModel::EndPart(Id id, TimePoint now) {
  const int stage = calls_.Stage(id);
  executions_.Remove(id);
  const PipelineCalls::After after = calls_.EndPart(id);
  if (after == PipelineCalls::After::kGoesOn) {
    executions_.Add(id, calls_.Work(id));
    executions_.SetRate(id, stage, 1, ToSeconds(now));
    return;
  }
  times_.Stop(id, now);
  if (after == PipelineCalls::After::kOver) times_.End(id, stage, now);
  std::erase(Waits(stage) ? in_waits_ : computing_, id);
}

void PipelineModel::ShortenCancelled(TimePoint now) {
  const auto shorten = [this, now](Id id, double rate) {
    if (!calls_.Cancelled(id)) return;
    const double left = calls_.UntilPieceEnds(id, executions_.Left(id, ToSeconds(now)));
    executions_.Remove(id);
    executions_.Add(id, left);
    executions_.SetRate(id, calls_.Stage(id), rate, ToSeconds(now));
  };
  for (const Id id : computing_) shorten(id, 1);
  for (const Id id : in_waits_) shorten(id, 1);
  for (const Id id : stopped_) shorten(id, 0);
}

void PipelineModel::UpdateSpeeds(TimePoint now) {
  const auto helped = static_cast<int>(std::ranges::count_if(
      computing_, [this](Id id) { return helped_[static_cast<size_t>(calls_.Stage(id))]; }));
  const double helpers = helped > 0 ? std::clamp(cores_ - Busy(), 0.0, split_.intra - 1.0) : 0;
  threads_ = Busy() + (helped > 0 ? split_.intra - 1 : 0);
  const double cores_a_call = Busy() > 0 ? std::min(1.0, cores_ / Busy()) : 1;
  for (int stage = 0; stage < state_.Layout().Egress(); ++stage) {
    if (Waits(stage)) continue;
    double speed = speed_ * cores_a_call;
    if (helpers > 0) {
      speed *= calls_.Cost(stage).law.SpeedUp(1 + helpers / helped);
    }
    if (executions_.Speed(stage) != speed) executions_.SetSpeed(stage, speed, ToSeconds(now));
  }
}

PipelineSample PipelineModel::Sample() const {
  PipelineSample sample{.waiting = requests_.Waiting(),
                        .open = requests_.Open(),
                        .open_requests = state_.OpenRequests()};
  const std::vector<StageSample> stages = state_.Sample();
  for (int stage = 0; stage < state_.Layout().Egress(); ++stage) {
    const auto index = static_cast<size_t>(stage);
    const StageTimes::Total& times = times_.Of(stage);
    sample.stages.push_back({stages[index], state_.Layout().Stage(stage).name, Waits(stage),
                             calls_.Ended(stage), calls_.Taken(stage), times.busy, times.lasted});
  }
  return sample;
}

}  // namespace cosched
