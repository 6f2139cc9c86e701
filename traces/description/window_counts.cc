#include "traces/description/window_counts.h"

namespace cosched {

void WindowCounts::Open(Duration since) {
  Close();
  const Duration begin = since / width_ * width_;
  end_ = begin > Duration::max() - width_ ? Duration::max() : begin + width_;
}

void WindowCounts::Close() {
  if (open_count_ == 0) return;
  arrivals_ += open_count_;
  ++occupied_;
  sum_of_squares_ += static_cast<Uint128>(open_count_) * static_cast<Uint128>(open_count_);
  if (open_count_ > busiest_) {
    busiest_ = open_count_;
    busiest_start_ = last_ / width_ * width_;
  }
  open_count_ = 0;
}

WindowCounts::Summary WindowCounts::Summarize() const {
  WindowCounts closed = *this;
  closed.Close();
  Summary summary;
  if (closed.arrivals_ == 0) return summary;
  summary.windows = last_ / width_ + 1;
  summary.empty = summary.windows - closed.occupied_;
  summary.busiest = closed.busiest_;
  summary.busiest_start = closed.busiest_start_;
  // (sum of squares / windows - mean^2) / mean, with the mean = arrivals / windows, over the common
  // denominator so that equal counts give exactly 0.
  const auto windows = static_cast<Uint128>(summary.windows);
  const auto arrivals = static_cast<Uint128>(closed.arrivals_);
  const Uint128 spread = closed.sum_of_squares_ * windows - arrivals * arrivals;
  summary.dispersion = static_cast<double>(spread) / static_cast<double>(arrivals * windows);
  return summary;
}

}  // namespace cosched
