#pragma once
// The arrival times of a minute or a second of which a trace tells only how many there were
// (formats.h: Spread). Seeded, in order of time, in constant memory, equal on every platform. Not
// thread-safe.

#include <cstdint>

#include "engine/base/clock.h"
#include "engine/base/random.h"
#include "traces/formats.h"

namespace cosched {

class SpreadArrivals {
 public:
  // More in one bucket are taken for a damaged file, not for a trace.
  static constexpr int64_t kMaxCount = 10'000'000;

  // REQUIRES: count >= 0.
  SpreadArrivals(Spread rule, int64_t count, Duration begin, Duration width, const Random& random);

  // The next arrival's time, within [begin, begin + width), or false after `count` of them.
  bool Next(Duration* time);

 private:
  // Sums of exponential gaps: n + 1 of them, scaled to fill the bucket, separate n points that lie
  // independently and uniformly in it; n of them, beginning at its start, are the exponential rule.
  // The sum is needed before the first point, so the gaps are drawn twice from equal streams.
  Spread rule_;
  int64_t left_;
  Duration begin_;
  Duration width_;
  Random random_;
  double total_ = 0;
  double passed_ = 0;
  bool started_ = false;
};

}  // namespace cosched
