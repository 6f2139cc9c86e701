#include "experiments/hosts/simulation/executions.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace cosched {

TimePoint NotBefore(double seconds) {
  return TimePoint(Duration(static_cast<int64_t>(std::ceil(seconds * 1e9))));
}
namespace {

constexpr size_t kArity = 4;  // Fewer levels and cache lines than a binary heap.

}  // namespace

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
  const double finish = clock.heap[static_cast<size_t>(execution.position)].finish;
  return std::max(0.0, (finish - VirtualTime(execution.clock, now)) * execution.rate);
}

void Executions::SetRate(Id id, ClockId clock, double rate, double now) {
  Execution& execution = executions_[static_cast<size_t>(id)];
  execution.left = Left(id, now);
  if (execution.position >= 0) Erase(&At(execution.clock), static_cast<size_t>(execution.position));
  execution.rate = rate;
  execution.clock = clock;
  if (rate > 0) Insert(&At(clock), {VirtualTime(clock, now) + execution.left / rate, id});
}

void Executions::Remove(Id id) {
  const Execution& execution = Of(id);
  if (execution.position >= 0) Erase(&At(execution.clock), static_cast<size_t>(execution.position));
}

std::optional<Executions::Completion> Executions::Next() const {
  std::optional<Completion> next;
  for (const Clock& clock : clocks_) {
    if (clock.heap.empty() || clock.speed <= 0) continue;
    const Entry& first = clock.heap.front();
    const double time = clock.since + (first.finish - clock.virtual_time) / clock.speed;
    if (!next || time < next->time) next = {first.id, time};
  }
  return next;
}

void Executions::Put(Clock* clock, size_t position, const Entry& entry) {
  clock->heap[position] = entry;
  executions_[static_cast<size_t>(entry.id)].position = static_cast<int>(position);
}

void Executions::Insert(Clock* clock, Entry entry) {
  clock->heap.push_back(entry);
  SiftUp(clock, clock->heap.size() - 1);
}

void Executions::Erase(Clock* clock, size_t position) {
  std::vector<Entry>& heap = clock->heap;
  CHECK(position < heap.size());
  executions_[static_cast<size_t>(heap[position].id)].position = -1;
  const Entry last = heap.back();
  heap.pop_back();
  if (position == heap.size()) return;
  Put(clock, position, last);
  SiftUp(clock, position);
  SiftDown(clock, static_cast<size_t>(Of(last.id).position));
}

void Executions::SiftUp(Clock* clock, size_t position) {
  const Entry entry = clock->heap[position];
  while (position > 0) {
    const size_t parent = (position - 1) / kArity;
    if (!(entry < clock->heap[parent])) break;
    Put(clock, position, clock->heap[parent]);
    position = parent;
  }
  Put(clock, position, entry);
}

void Executions::SiftDown(Clock* clock, size_t position) {
  const std::vector<Entry>& heap = clock->heap;
  const Entry entry = heap[position];
  while (true) {
    const size_t first = kArity * position + 1;
    if (first >= heap.size()) break;
    const size_t end = std::min(first + kArity, heap.size());
    size_t least = first;
    for (size_t child = first + 1; child < end; ++child) {
      if (heap[child] < heap[least]) least = child;
    }
    if (!(heap[least] < entry)) break;
    Put(clock, position, heap[least]);
    position = least;
  }
  Put(clock, position, entry);
}

}  // namespace cosched
