#pragma once
// The time of a generator: whole nanoseconds and the fraction that the gaps so far have left over,
// so that rounding does not add up. A value. Used by the arrival processes.

#include <cstdint>

#include "traces/generators/arrival_process.h"

namespace cosched {

class GeneratedClock {
 public:
  // Moves on by a gap in nanoseconds, >= 0; false if that is beyond kLongestTrace.
  bool Advance(double nanoseconds) {
    const double sum = fraction_ + nanoseconds;
    if (!(sum < kLongest)) return false;
    const int64_t whole = static_cast<int64_t>(sum);
    fraction_ = sum - static_cast<double>(whole);
    time_ += whole;
    return time_ <= kLongestTrace.count();
  }
  Duration Now() const { return Duration(time_); }

 private:
  static constexpr double kLongest = 0x1p62;
  int64_t time_ = 0;
  double fraction_ = 0;
};

constexpr double kNanosecondsPerSecond = 1e9;

}  // namespace cosched
