#pragma once
// Arrivals counted in windows of one width that lie side by side from the first arrival on: the
// busiest one, the empty ones, and how much the counts vary. Constant memory: arrivals are in
// order, so one window is open at a time, and empty ones are counted without being visited. Not
// thread-safe.

#include <cstdint>

#include "engine/base/clock.h"
#include "traces/description/wide_integer.h"

namespace cosched {

class WindowCounts {
 public:
  explicit WindowCounts(Duration width) : width_(width), end_(width) {}

  // since: from the first arrival, in order; the first is 0.
  void Add(Duration since) {
    if (since >= end_) Open(since);
    ++open_count_;
    last_ = since;
  }

  struct Summary {
    int64_t windows = 0;  // From the first arrival's to the last arrival's, both counted in full.
    int64_t empty = 0;
    int64_t busiest = 0;  // Arrivals in the busiest one, the first of equals.
    Duration busiest_start{0};
    // Variance (of the population: divided by `windows`) of the counts over their mean; 1 for a
    // Poisson process. 0 where there is no arrival.
    double dispersion = 0;
  };
  Summary Summarize() const;
  Duration width() const { return width_; }

 private:
  void Open(Duration since);
  void Close();

  const Duration width_;
  Duration end_;  // The open window's end.
  Duration last_{-1};
  int64_t open_count_ = 0;
  int64_t arrivals_ = 0;  // In closed windows, as all below.
  int64_t occupied_ = 0;
  int64_t busiest_ = 0;
  Duration busiest_start_{0};
  Uint128 sum_of_squares_ = 0;
};

}  // namespace cosched
