#pragma once
// What simulated tenants have been told to expect at a certain time, earliest first, and of equal
// times in the order in which they were armed. A timer that no longer counts is not taken back: the
// tenant has forgotten its number. What is put off all the time, a tenant's one alarm, is: its old
// time is gone. O(log n) in the timers that wait. One thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "experiments/hosts/simulation/executions.h"
#include "experiments/hosts/simulation/positioned_heap.h"

namespace cosched {

class Timers {
 public:
  // What it is for is known by the tenant's field that holds its number.
  struct Timer {
    TimePoint time;
    int64_t number;
    Executions::Id tenant;
    friend bool operator<(const Timer& a, const Timer& b) {
      return a.time != b.time ? a.time < b.time : a.number < b.number;
    }
    friend bool operator>(const Timer& a, const Timer& b) { return b < a; }
  };

  int64_t Arm(Executions::Id tenant, TimePoint time) {  // Gives the timer's number.
    waiting_.push({time, ++last_, tenant});
    return last_;
  }
  // The tenant's alarm, instead of the one that it has; nullopt = none. Gives its number, or -1.
  int64_t SetAlarm(Executions::Id tenant, std::optional<TimePoint> time);

  TimePoint Next() const {
    const Timer* const first = First();
    return first == nullptr ? TimePoint::max() : first->time;
  }
  Timer Take();  // REQUIRES: one waits.

 private:
  using Alarms = PositionedHeap<Timer>;

  const Timer* First() const {
    if (waiting_.empty()) return alarms_.Empty() ? nullptr : &alarms_.Front();
    if (alarms_.Empty() || waiting_.top() < alarms_.Front()) return &waiting_.top();
    return &alarms_.Front();
  }
  auto Positions() {
    return [this](const Timer& alarm, int position) {
      positions_[static_cast<size_t>(alarm.tenant)] = position;
    };
  }

  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> waiting_;
  Alarms alarms_;
  std::vector<int> positions_;  // By tenant, in alarms_.
  int64_t last_ = 0;
};

inline int64_t Timers::SetAlarm(Executions::Id tenant, std::optional<TimePoint> time) {
  const auto index = static_cast<size_t>(tenant);
  if (index >= positions_.size()) positions_.resize(index + 1, Alarms::kNowhere);
  const int position = positions_[index];
  if (!time) {
    if (position != Alarms::kNowhere) alarms_.Erase(position, Positions());
    return -1;
  }
  const Timer alarm{*time, ++last_, tenant};
  position == Alarms::kNowhere ? alarms_.Insert(alarm, Positions())
                               : alarms_.Replace(position, alarm, Positions());
  return last_;
}

inline Timers::Timer Timers::Take() {
  const Timer first = *First();
  if (!alarms_.Empty() && first.number == alarms_.Front().number) {
    alarms_.Erase(0, Positions());
  } else {
    waiting_.pop();
  }
  return first;
}

}  // namespace cosched
