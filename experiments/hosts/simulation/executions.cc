#include "experiments/hosts/simulation/executions.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace cosched {

TimePoint NotBefore(double seconds) {
  return TimePoint(Duration(static_cast<int64_t>(std::ceil(seconds * 1e9))));
}

Executions::ClockId Executions::AddClock(double speed) {
  clocks_.push_back({.speed = speed, .heap = {}});
  return static_cast<ClockId>(clocks_.size()) - 1;
}

double Executions::VirtualTime(ClockId id, double now) const {
  const Clock& clock = clocks_[static_cast<size_t>(id)];
  return clock.virtual_time + clock.speed * (now - clock.since);
}

void Executions::SetSpeed(ClockId id, double speed, double now) {
  Clock& clock = At(id);
  clock.virtual_time = VirtualTime(id, now);
  clock.since = now;
  clock.speed = speed;
}

void Executions::Add(Id id, double work) {
  const auto index = static_cast<size_t>(id);
  if (index >= executions_.size()) executions_.resize(index + 1);
  executions_[index] = {.left = work};
}

double Executions::Left(Id id, double now) const {
  const Execution& execution = Of(id);
  if (execution.position < 0) return execution.left;
  const Clock& clock = clocks_[static_cast<size_t>(execution.clock)];
  const double finish = clock.heap[execution.position].finish;
  return std::max(0.0, (finish - VirtualTime(execution.clock, now)) * execution.rate);
}

void Executions::SetRate(Id id, ClockId clock, double rate, double now) {
  Execution& execution = executions_[static_cast<size_t>(id)];
  execution.left = Left(id, now);
  if (execution.position >= 0) At(execution.clock).heap.Erase(execution.position, Positions());
  execution.rate = rate;
  execution.clock = clock;
  if (rate <= 0) return;
  At(clock).heap.Insert({VirtualTime(clock, now) + execution.left / rate, id}, Positions());
}

void Executions::Remove(Id id) {
  const Execution& execution = Of(id);
  if (execution.position >= 0) At(execution.clock).heap.Erase(execution.position, Positions());
}

std::optional<Executions::Completion> Executions::Next() const {
  std::optional<Completion> next;
  for (const Clock& clock : clocks_) {
    if (clock.heap.Empty() || clock.speed <= 0) continue;
    const Entry& first = clock.heap.Front();
    const double time = clock.since + (first.finish - clock.virtual_time) / clock.speed;
    if (!next || time < next->time) next = {first.id, time};
  }
  return next;
}

}  // namespace cosched
