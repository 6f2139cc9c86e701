#pragma once
// What simulated tenants have been told to expect at a certain time, earliest first, and of equal
// times in the order in which they were armed. A timer that no longer counts is not taken back: the
// tenant has forgotten its number. O(log n) in the timers that wait. One thread.

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "experiments/hosts/simulation/executions.h"

namespace cosched {

class Timers {
 public:
  // What it is for is known by the tenant's field that holds its number.
  struct Timer {
    TimePoint time;
    int64_t number;
    Executions::Id tenant;
    friend bool operator>(const Timer& a, const Timer& b) {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };

  int64_t Arm(Executions::Id tenant, TimePoint time) {  // Returns the timer's number.
    waiting_.push({time, ++last_, tenant});
    return last_;
  }
  TimePoint Next() const { return waiting_.empty() ? TimePoint::max() : waiting_.top().time; }
  Timer Take() {  // REQUIRES: one waits.
    const Timer first = waiting_.top();
    waiting_.pop();
    return first;
  }

 private:
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> waiting_;
  int64_t last_ = 0;
};

}  // namespace cosched
