#include "experiments/hosts/simulation/service_agenda.h"

#include "engine/base/check.h"

namespace cosched {

void ServiceAgenda::Add(Id id) {
  const auto index = static_cast<size_t>(id);
  if (index >= places_.size()) places_.resize(index + 1);
  CHECK(places_[index].number == 0) << "service " << id << " again";
  places_[index] = {.number = ++last_number_, .clock = {}};
  ++count_;
}

ServiceAgenda::Place& ServiceAgenda::At(Id id) {
  const auto index = static_cast<size_t>(id);
  CHECK(index < places_.size() && places_[index].number > 0) << "service " << id << " is not there";
  return places_[index];
}

void ServiceAgenda::Remove(Id id) {
  SetNext(id, std::nullopt);
  Place& place = At(id);
  if (place.clock) by_clock_[static_cast<size_t>(*place.clock)].erase(id);
  place = {};
  --count_;
}

void ServiceAgenda::SetNext(Id id, std::optional<TimePoint> time) {
  const Place& place = At(id);
  const bool waits = place.position != Heap::kNowhere;
  if (!time) {
    if (waits) agenda_.Erase(place.position, Positions());
    return;
  }
  const Key key{*time, place.number, id};
  waits ? agenda_.Replace(place.position, key, Positions()) : agenda_.Insert(key, Positions());
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
  if (agenda_.Empty()) return std::nullopt;
  const auto& [time, number, id] = agenda_.Front();
  return Entry{time, id};
}

const std::set<ServiceAgenda::Id>& ServiceAgenda::On(ClockId clock) const {
  static const std::set<Id> kNone;
  const auto index = static_cast<size_t>(clock);
  return index < by_clock_.size() ? by_clock_[index] : kNone;
}

}  // namespace cosched
