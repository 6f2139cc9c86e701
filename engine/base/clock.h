#pragma once
// Time across every seam: strong types, integer nanoseconds. A TimePoint counts from the start of
// the cell (one policy x elasticity x trial); hardware and simulation differ only in who advances
// the clock.

#include <chrono>

namespace cosched {

using Duration = std::chrono::nanoseconds;

// Tag that keeps experiment time apart from wall-clock time; its epoch is the start of the cell.
struct ExperimentTime {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
};
using TimePoint = std::chrono::time_point<ExperimentTime, Duration>;

constexpr double ToSeconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
constexpr double ToSeconds(TimePoint time) { return ToSeconds(time.time_since_epoch()); }
constexpr Duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;  // Never goes back. Thread-safe.
};

// CLOCK_MONOTONIC, zero at construction.
class RealClock final : public Clock {
 public:
  RealClock() : start_(std::chrono::steady_clock::now()) {}
  TimePoint Now() const override {
    return TimePoint(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start_));
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace cosched
