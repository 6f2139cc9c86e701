#pragma once
// Which simulated service does something next, and which ones a change of a clock's speed concerns:
// an event costs O(log n) in the services that are there, and a change of speed one look at each
// service that it slows. Used by SimulatedHost on one thread.

#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "experiments/hosts/simulation/executions.h"
#include "experiments/hosts/simulation/positioned_heap.h"

namespace cosched {

class ServiceAgenda {
 public:
  using Id = Executions::Id;
  using ClockId = Executions::ClockId;

  bool Empty() const { return count_ == 0; }
  void Add(Id id);  // By no clock, and with nothing to do.
  void Remove(Id id);
  // When it answers or begins next if nothing else happens; nullopt = never.
  void SetNext(Id id, std::optional<TimePoint> time);
  void SetClock(Id id,
                ClockId clock);  // The service's servers are as fast as that clock lets them.

  struct Entry {
    TimePoint time;
    Id id;
  };
  std::optional<Entry> First() const;  // At equal times the service that was added first.
  const std::set<Id>& On(ClockId clock) const;

 private:
  using Key = std::tuple<TimePoint, int64_t, Id>;
  using Heap = PositionedHeap<Key>;
  struct Place {
    int64_t number = 0;  // In order of Add; 0 = it is not there.
    int position = Heap::kNowhere;
    std::optional<ClockId> clock;
  };
  Place& At(Id id);
  auto Positions() {
    return [this](const Key& key, int position) {
      places_[static_cast<size_t>(std::get<Id>(key))].position = position;
    };
  }

  int64_t last_number_ = 0;
  int count_ = 0;
  std::vector<Place> places_;  // By id.
  Heap agenda_;
  std::vector<std::set<Id>> by_clock_;
};

}  // namespace cosched
