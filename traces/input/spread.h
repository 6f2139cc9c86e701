#pragma once
// The arrival times of a minute or a second of which a trace tells only how many there were
// (formats.h: Spread). Seeded, in order of time, in constant memory, equal on every platform. Not
// thread-safe.

#include <cstdint>

#include "engine/base/clock.h"
#include "engine/base/random.h"
#include "traces/input/formats.h"

namespace cosched {

class SpreadArrivals {
 public:
  // More in one bucket are taken for a damaged file, not for a trace.
  static constexpr int64_t kMaxCount = 10'000'000;

  // REQUIRES: count >= 0.
  SpreadArrivals(Spread rule, int64_t count, Duration begin, Duration width, const Random& random)
      : rule_(rule),
        left_(count),
        at_start_(rule == Spread::kUniform ? 0 : 1),
        begin_(begin),
        width_(width),
        random_(random) {}

  // The next arrival's time, within [begin, begin + width), or false after `count` of them.
  bool Next(Duration* time);

 private:
  // Uniform points are drawn in their order: of n points in what remains of the bucket, the first
  // leaves exp(-E / n) of it, with E exponential of mean 1. The exponential rule needs nothing
  // else: n exponential gaps scaled to a sum are those between a start and n - 1 uniform points.
  Spread rule_;
  int64_t left_;
  int64_t at_start_;
  Duration begin_;
  Duration width_;
  Random random_;
  double remaining_ = 1;  // What is left of the bucket.
};

}  // namespace cosched
