#pragma once
// Arrivals over time in a bounded number of bins: they begin at 1 ns and widen, along widths that
// people read (1, 2, 10, 20, 100 … ns, then s, min, h, days), whenever the trace outgrows them, so
// that a trace of any length ends in some hundreds to thousands of bins of equal width. For charts
// and the autocorrelation of counts. Constant memory. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/clock.h"

namespace cosched {

class RateSeries {
 public:
  static constexpr size_t kMostBins = 4096;

  // since: from the first arrival, in order; the first is 0.
  void Add(Duration since) {
    if (since >= end_) MoveTo(since);
    ++counts_[open_];
  }

  Duration width() const;
  // From the first arrival's bin to the last arrival's.
  std::vector<int64_t> Counts() const;

 private:
  void MoveTo(Duration since);
  void Widen();

  size_t step_ = 0;  // Which width.
  size_t open_ = 0;
  Duration end_{1};  // The open bin's end.
  std::vector<int64_t> counts_ = std::vector<int64_t>(kMostBins);
};

}  // namespace cosched
