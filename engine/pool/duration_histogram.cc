#include "engine/pool/duration_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cosched {

// Values below kSteps have a bucket each; above, the leading bit names the doubling and the next
// three the step in it.
int DurationHistogram::Bucket(uint64_t value) {
  if (value < kSteps) return static_cast<int>(value);
  const int shift = std::bit_width(value) - std::bit_width(uint64_t{kSteps});
  const int step = static_cast<int>(value >> shift) - kSteps;
  return std::min((shift + 1) * kSteps + step, kBuckets - 1);
}

uint64_t DurationHistogram::UpperBound(int bucket) {
  if (bucket < kSteps) return static_cast<uint64_t>(bucket);
  const int shift = bucket / kSteps - 1;
  return (static_cast<uint64_t>(kSteps + bucket % kSteps + 1) << shift) - 1;
}

void DurationHistogram::Add(std::chrono::nanoseconds duration) {
  const auto value = static_cast<uint64_t>(std::max<int64_t>(1, duration.count()));
  ++buckets_[static_cast<size_t>(Bucket(value))];
  ++count_;
  max_ = std::max(max_, std::chrono::nanoseconds(value));
}

void DurationHistogram::Merge(const DurationHistogram& other) {
  for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

std::chrono::nanoseconds DurationHistogram::Quantile(double quantile) const {
  if (count_ == 0) return std::chrono::nanoseconds(0);
  const double share = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count_);
  const auto wanted = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(share)));
  int64_t seen = 0;
  int bucket = 0;
  while ((seen += buckets_[static_cast<size_t>(bucket)]) < wanted) ++bucket;
  return std::chrono::nanoseconds(UpperBound(bucket));
}

}  // namespace cosched
