#pragma once
// How far a tenant is and how fast it was in the last second. The tenant's main thread adds steps;
// any thread reads.

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>

namespace cosched {

class StepMeter {
 public:
  using Clock = std::chrono::steady_clock;

  struct Reading {
    int64_t steps = 0;
    int64_t images = 0;
    double images_per_second = 0;
  };

  void Add(Clock::time_point start, Clock::time_point end, int images);
  // The rate is that of the second before the last step ended (a step that lies in it in part
  // counts in part), or 0 if nothing has ended for longer than that step and a second.
  Reading Read(Clock::time_point now) const;

 private:
  struct Step {
    Clock::time_point start, end;
    int images = 0;
  };

  mutable std::mutex mutex_;
  std::deque<Step> steps_;  // Those that reach into the last second.
  int64_t count_ = 0, images_ = 0;
};

}  // namespace cosched
