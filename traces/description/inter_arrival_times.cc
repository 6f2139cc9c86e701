#include "traces/description/inter_arrival_times.h"

#include <algorithm>
#include <cmath>

namespace cosched {

void InterArrivalTimes::AddSilence(const Silence& silence) {
  const auto place = std::find_if(longest_.begin(), longest_.end(), [&](const Silence& other) {
    return other.length < silence.length;
  });
  longest_.insert(place, silence);
  if (longest_.size() > kLongest) longest_.pop_back();
  if (longest_.size() == kLongest) longest_enough_ = longest_.back().length;
}

double InterArrivalTimes::CoefficientOfVariation() const {
  const int64_t count = statistics_.count();
  if (count == 0) return 0;
  const auto sum = static_cast<Uint128>(*statistics_.IntegerSum());
  if (sum == 0) return 0;
  // About the mean rounded down, m: the sum of (gap - m)^2 is an integer below 2^128, so it is
  // exact even where its terms wrap around; then the correction for what rounding cut off.
  const auto n = static_cast<Uint128>(count);
  const Uint128 m = sum / n, rest = sum % n;
  const Uint128 squares = sum_of_squares_ - 2 * m * sum + n * m * m;
  const double cut = static_cast<double>(rest) / static_cast<double>(n);
  const double variance =
      std::max(0.0, static_cast<double>(squares) / static_cast<double>(n) - cut * cut);
  return std::sqrt(variance) / (static_cast<double>(sum) / static_cast<double>(n));
}

}  // namespace cosched
