#include "experiments/hosts/simulation/service_agenda.h"

#include "engine/base/check.h"

namespace cosched {

void ServiceAgenda::Add(Id id) {
  CHECK(places_.try_emplace(id, Place{.number = ++last_number_, .next = {}, .clock = {}}).second)
      << "service " << id << " again";
}

ServiceAgenda::Place& ServiceAgenda::At(Id id) {
  const auto place = places_.find(id);
  CHECK(place != places_.end()) << "service " << id << " is not there";
  return place->second;
}

void ServiceAgenda::Remove(Id id) {
  SetNext(id, std::nullopt);
  const Place& place = At(id);
  if (place.clock) by_clock_[static_cast<size_t>(*place.clock)].erase(id);
  places_.erase(id);
}

void ServiceAgenda::SetNext(Id id, std::optional<TimePoint> time) {
  Place& place = At(id);
  if (place.next == time) return;
  if (place.next) agenda_.erase({*place.next, place.number, id});
  if (time) agenda_.insert({*time, place.number, id});
  place.next = time;
}

void ServiceAgenda::SetClock(Id id, ClockId clock) {
  Place& place = At(id);
  if (place.clock == clock) return;
  if (place.clock) by_clock_[static_cast<size_t>(*place.clock)].erase(id);
  const auto index = static_cast<size_t>(clock);
  if (index >= by_clock_.size()) by_clock_.resize(index + 1);
  by_clock_[index].insert(id);
  place.clock = clock;
}

std::optional<ServiceAgenda::Entry> ServiceAgenda::First() const {
  if (agenda_.empty()) return std::nullopt;
  const auto& [time, number, id] = *agenda_.begin();
  return Entry{time, id};
}

const std::set<ServiceAgenda::Id>& ServiceAgenda::On(ClockId clock) const {
  static const std::set<Id> kNone;
  const auto index = static_cast<size_t>(clock);
  return index < by_clock_.size() ? by_clock_[index] : kNone;
}

}  // namespace cosched
