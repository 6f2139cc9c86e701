#pragma once
// The simulator's core: executions that each have work left and a rate, and which of them completes
// next. An event costs O(log n) in the executions in flight, because nothing is touched whose rate
// does not change: progress is kept in virtual time. Knows no jobs and no cores. One thread.
//
// Each execution runs by a clock, whose virtual time V passes `speed` times as fast as real time;
// on it the execution completes at V0 + left / rate, whatever happens to the speed meanwhile. So
// what slows many alike (contention) is one change of a clock's speed. Source: virtual time as in
// fair queueing, Demers, Keshav, Shenker, SIGCOMM 1989; lazy updates as in SimGrid (Casanova et
// al., JPDC 74(10), 2014).

#include <optional>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/hosts/simulation/positioned_heap.h"

namespace cosched {

// The first nanosecond at which something that takes until then is over.
TimePoint NotBefore(double seconds);

class Executions {
 public:
  // Ids are small numbers of the caller's choice, free for use again after Remove.
  using Id = int;
  using ClockId = int;

  // Clocks are 0, 1, … in order of their making; they stay.
  ClockId AddClock(double speed);
  // REQUIRES, here and below: `now` (seconds) does not go back.
  void SetSpeed(ClockId clock, double speed, double now);
  // Virtual time of the clock at `now`.
  double VirtualTime(ClockId clock, double now) const;
  double Speed(ClockId clock) const { return clocks_[static_cast<size_t>(clock)].speed; }

  void Add(Id id, double work);  // Added executions do not run yet.
  // Runs by that clock with `rate` work per virtual second from now on; 0 = not at all.
  void SetRate(Id id, ClockId clock, double rate, double now);
  void Remove(Id id);
  double Left(Id id, double now) const;  // Work, 0 or more.

  struct Completion {
    Id id;
    double time;  // May lie in the past if the caller was late.
  };
  // The execution that completes first (of equal ones by the same clock, that with the lowest id),
  // if all stays as it is. O(clocks).
  std::optional<Completion> Next() const;

 private:
  struct Entry {
    double finish;  // Virtual time.
    Id id;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.finish != b.finish ? a.finish < b.finish : a.id < b.id;
    }
  };
  struct Clock {
    double speed;
    double virtual_time = 0;  // At `since`.
    double since = 0;
    PositionedHeap<Entry> heap;
  };
  struct Execution {
    double left = 0;  // While it is in no heap.
    double rate = 0;
    ClockId clock = -1;
    int position = PositionedHeap<Entry>::kNowhere;  // In the clock's heap.
  };

  auto Positions() {  // For a clock's heap.
    return [this](const Entry& entry, int position) {
      executions_[static_cast<size_t>(entry.id)].position = position;
    };
  }
  Clock& At(ClockId clock) { return clocks_[static_cast<size_t>(clock)]; }
  const Execution& Of(Id id) const { return executions_[static_cast<size_t>(id)]; }

  std::vector<Clock> clocks_;
  std::vector<Execution> executions_;  // By id.
};

}  // namespace cosched
