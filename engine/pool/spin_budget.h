#pragma once
// How long one thread looks before it sleeps, learnt from what became of its waits. Looking pays
// where the partner runs: then the next loop, or the end of this one, is some microseconds away. On
// crowded cores the partner waits for its own turn, milliseconds, and looking only keeps the core
// from those who could run. Used by the pool only. A value; one thread's.

#include <algorithm>
#include <chrono>

namespace cosched {

class SpinBudget {
 public:
  // The budget out of `most`, which is told each time because a thread may wait for several pools.
  std::chrono::nanoseconds Of(std::chrono::nanoseconds most) const {
    return halvings_ < kMostHalvings ? most / (1 << halvings_) : std::chrono::nanoseconds(0);
  }
  void Found() { halvings_ = 0; }
  // The thread looked in vain and slept; all of it, waking included, took `waited`. Where a full
  // look would have seen the end, or would but for the time of waking, the full look is restored
  // at once: without that two threads that were late for each other once would go on sleeping, loop
  // after loop. Each longer wait halves it.
  void Slept(std::chrono::nanoseconds waited, std::chrono::nanoseconds most) {
    halvings_ = waited <= 2 * most ? 0 : std::min(halvings_ + 1, kMostHalvings);
  }

 private:
  static constexpr int kMostHalvings = 5;  // Below 2 us of 50 a look is as good as none.

  int halvings_ = 0;
};

}  // namespace cosched
