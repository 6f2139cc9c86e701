#include "traces/description/rate_series.h"

#include <algorithm>
#include <array>

namespace cosched {
namespace {

// Each divides the next. The last one holds all times that 64 bits of nanoseconds can tell.
constexpr std::array kWidths = [] {
  using std::chrono::seconds;
  std::array<Duration, 35> widths = {};
  size_t count = 0;
  for (int64_t decade = 1; decade < 1'000'000'000; decade *= 10) {
    widths[count++] = Duration(decade);
    widths[count++] = Duration(2 * decade);
  }
  constexpr int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  for (int64_t width : {int64_t{1}, int64_t{2}, int64_t{10}, int64_t{20}, kMinute, 2 * kMinute,
                        10 * kMinute, 20 * kMinute, kHour, 2 * kHour, 6 * kHour, 12 * kHour, kDay,
                        2 * kDay, 10 * kDay, 20 * kDay, 100 * kDay}) {
    widths[count++] = seconds(width);
  }
  return widths;
}();
static_assert(kWidths.back() > Duration::max() / RateSeries::kMostBins);

}  // namespace

Duration RateSeries::width() const { return kWidths[step_]; }

void RateSeries::MoveTo(Duration since) {
  while (since / width() >= static_cast<int64_t>(kMostBins)) Widen();
  open_ = static_cast<size_t>(since / width());
  const Duration begin = width() * static_cast<int64_t>(open_);
  end_ = begin > Duration::max() - width() ? Duration::max() : begin + width();
}

void RateSeries::Widen() {
  const auto merged = static_cast<size_t>(kWidths[step_ + 1] / kWidths[step_]);
  for (size_t i = 0; i < kMostBins; ++i) {
    const int64_t count = counts_[i];
    counts_[i] = 0;
    counts_[i / merged] += count;
  }
  ++step_;
}

std::vector<int64_t> RateSeries::Counts() const {
  return {counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(open_) + 1};
}

}  // namespace cosched
