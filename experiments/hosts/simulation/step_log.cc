#include "experiments/hosts/simulation/step_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cosched {
namespace {

constexpr double kWhole = 1e-9;  // A step that lacks less than this part is done.

}  // namespace

void StepLog::OnSpeed(Executions::ClockId clock, double now) {
  const auto index = static_cast<size_t>(clock);
  if (index >= passages_.size()) passages_.resize(index + 1);
  if (passages_[index].empty()) passages_[index].push_back({0, 0, 1});  // As it was made.
  passages_[index].push_back(
      {executions_->VirtualTime(clock, now), now, executions_->Speed(clock)});
}

void StepLog::Forget(double now) {
  for (size_t clock = 0; clock < passages_.size(); ++clock) {
    if (passages_[clock].size() < 2) continue;
    const auto id = static_cast<Executions::ClockId>(clock);
    passages_[clock] = {{executions_->VirtualTime(id, now), now, executions_->Speed(id)}};
  }
}

double StepLog::TimeOf(Executions::ClockId clock, double virtual_time) const {
  const auto index = static_cast<size_t>(clock);
  if (index >= passages_.size() || passages_[index].empty()) return virtual_time;  // Speed 1.
  const std::vector<Passage>& passages = passages_[index];
  const auto after =
      std::upper_bound(passages.begin(), passages.end(), virtual_time,
                       [](double v, const Passage& passage) { return v < passage.virtual_time; });
  const Passage& passage = after == passages.begin() ? *after : *std::prev(after);
  return passage.time + (virtual_time - passage.virtual_time) / passage.speed;
}

void StepLog::Start(Id id, JobId job, double warm_up, double now) {
  const auto index = static_cast<size_t>(id);
  if (index >= stretches_.size()) stretches_.resize(index + 1);
  stretches_[index] = {.job = job, .done = -warm_up, .last_end = now};
}

void StepLog::Write(Stretch* stretch, double time) {
  steps_.push_back({.job = stretch->job,
                    .step = stretch->written++,
                    .finished = TimePoint(FromSeconds(time)),
                    .duration = FromSeconds(time - stretch->last_end),
                    .threads = stretch->threads});
  stretch->last_end = time;
}

void StepLog::Flush(Id id, double now) {
  Stretch& stretch = stretches_[static_cast<size_t>(id)];
  if (stretch.rate <= 0) return;
  const double virtual_now = executions_->VirtualTime(stretch.clock, now);
  const double done = stretch.done + stretch.rate * (virtual_now - stretch.virtual_begin);
  const auto whole = static_cast<int64_t>(std::floor(done + kWhole));
  while (stretch.written < whole) {
    const double left = static_cast<double>(stretch.written + 1) - stretch.done;
    const double end = TimeOf(stretch.clock, stretch.virtual_begin + left / stretch.rate);
    Write(&stretch, std::clamp(end, stretch.last_end, now));
  }
  stretch.done = done;
  stretch.virtual_begin = virtual_now;
}

void StepLog::SetRate(Id id, Executions::ClockId clock, double rate, int threads, double now) {
  Flush(id, now);
  Stretch& stretch = stretches_[static_cast<size_t>(id)];
  stretch.clock = clock;
  stretch.rate = rate;
  stretch.threads = threads;
  stretch.virtual_begin = executions_->VirtualTime(clock, now);
}

void StepLog::Finish(Id id, int64_t steps, double now) {
  Flush(id, now);
  Stretch& stretch = stretches_[static_cast<size_t>(id)];
  while (stretch.written < steps) Write(&stretch, now);
  stretch.rate = 0;
}

std::vector<StepSample> StepLog::Take() { return std::exchange(steps_, {}); }

}  // namespace cosched
