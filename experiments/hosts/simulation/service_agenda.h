#pragma once
// Which simulated service does something next, and which ones a change of a clock's speed concerns:
// an event costs O(log n) in the services that are there, and a change of speed one look at each
// service that it slows. Used by SimulatedHost on one thread.

#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "experiments/hosts/simulation/executions.h"

namespace cosched {

class ServiceAgenda {
 public:
  using Id = Executions::Id;
  using ClockId = Executions::ClockId;

  bool Empty() const { return places_.empty(); }
  void Add(Id id);  // By no clock, and with nothing to do.
  void Remove(Id id);
  // When it answers or begins next if nothing else happens; nullopt = never.
  void SetNext(Id id, std::optional<TimePoint> time);
  void SetClock(Id id, ClockId clock);  // The servers' speed is that clock's.

  struct Entry {
    TimePoint time;
    Id id;
  };
  std::optional<Entry> First() const;  // At equal times the service that was added first.
  const std::set<Id>& On(ClockId clock) const;

 private:
  using Key = std::tuple<TimePoint, int64_t, Id>;
  struct Place {
    int64_t number = 0;  // In order of Add.
    std::optional<TimePoint> next;
    std::optional<ClockId> clock;
  };
  Place& At(Id id);

  int64_t last_number_ = 0;
  std::unordered_map<Id, Place> places_;
  std::set<Key> agenda_;
  std::vector<std::set<Id>> by_clock_;
};

}  // namespace cosched
