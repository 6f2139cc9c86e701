#pragma once
// The times between one arrival and the next: how irregular they are, which were longest, how many
// arrivals came at one instant. Sums are exact integers, so the coefficient of variation suffers
// from no cancellation. Constant memory. Not thread-safe.

#include <cstdint>
#include <vector>

#include "engine/base/clock.h"
#include "traces/description/number_statistics.h"
#include "traces/description/wide_integer.h"

namespace cosched {

class InterArrivalTimes {
 public:
  static constexpr size_t kLongest = 5;

  struct Silence {
    Duration start{0};  // The arrival before it, from the first arrival.
    Duration length{0};
  };

  // since: the later arrival's time from the first arrival; gap >= 0.
  void Add(Duration gap, Duration since) {
    const int64_t nanoseconds = gap.count();
    statistics_.Add(nanoseconds);
    sum_of_squares_ += static_cast<Uint128>(nanoseconds) * static_cast<Uint128>(nanoseconds);
    if (gap > longest_enough_) AddSilence({since - gap, gap});
    if (nanoseconds != 0) {
      tie_ = 1;
    } else {
      ++tied_;
      if (++tie_ > largest_tie_) largest_tie_ = tie_;
    }
  }

  // In nanoseconds.
  const NumberStatistics& statistics() const { return statistics_; }
  // Standard deviation (of the population) over mean; 1 for a Poisson process. 0 where the mean is.
  double CoefficientOfVariation() const;
  // At most kLongest, longest first, of equals the earliest; ties (length 0) are none.
  const std::vector<Silence>& longest() const { return longest_; }
  int64_t tied() const { return tied_; }  // Arrivals at the very instant of the one before.
  int64_t LargestTie() const { return largest_tie_; }  // Arrivals at one instant.

 private:
  void AddSilence(const Silence& silence);

  NumberStatistics statistics_;
  Uint128 sum_of_squares_ = 0;  // At most span^2, which fits.
  std::vector<Silence> longest_;
  Duration longest_enough_{0};  // To be among the longest.
  int64_t tied_ = 0;
  int64_t tie_ = 1;
  int64_t largest_tie_ = 1;
};

}  // namespace cosched
