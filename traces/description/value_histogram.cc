#include "traces/description/value_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/check.h"

namespace cosched {
namespace {

// What a bucket's values are told as.
double Middle(double low, double high, bool integers) {
  if (!integers) return low + (high - low) / 2;
  const double first = std::ceil(low), last = std::floor(high);
  return std::floor(first + (last - first) / 2);
}

}  // namespace

void ValueHistogram::ForEach(const Visit& visit) const {
  const auto bucket = [&](int page, int offset) {
    const int64_t count = (*pages_[page])[offset];
    if (count == 0) return;
    const uint64_t index = (static_cast<uint64_t>(page) << kFractionBits) + offset;
    const uint64_t bits = index << kDroppedBits;
    const auto nearest = std::bit_cast<double>(bits);  // To zero.
    constexpr uint64_t kDropped = (uint64_t{1} << kDroppedBits) - 1;
    const auto furthest = std::bit_cast<double>(bits == 0 ? 0 : bits | kDropped);
    visit(std::min(nearest, furthest), std::max(nearest, furthest), count);
  };
  for (int page = kPages - 1; page >= kPages / 2; --page) {  // Negative, the largest first.
    for (int offset = kPageSize - 1; pages_[page] && offset >= 0; --offset) bucket(page, offset);
  }
  for (int page = 0; page < kPages / 2; ++page) {
    for (int offset = 0; pages_[page] && offset < kPageSize; ++offset) bucket(page, offset);
  }
}

double ValueHistogram::Quantile(double share, bool integers) const {
  CHECK(count_ > 0 && share >= 0 && share <= 1) << "a quantile of nothing, or beyond 0 to 1";
  constexpr double kRounding = 1e-6;  // 0.07 * 100 is above 7.
  const auto rank = std::clamp<int64_t>(
      static_cast<int64_t>(std::ceil(share * static_cast<double>(count_) - kRounding)), 1, count_);
  int64_t below = 0;
  double quantile = std::numeric_limits<double>::quiet_NaN();
  ForEach([&](double low, double high, int64_t count) {
    if (below < rank && below + count >= rank) quantile = Middle(low, high, integers);
    below += count;
  });
  return quantile;
}

}  // namespace cosched
