#pragma once
// Counts of durations in buckets 12.5 % wide, from 1 ns to about 18 minutes: what the pools keep of
// their resizes and the simulator reads back as quantiles. A value: copy it, merge it. Not
// thread-safe.

#include <array>
#include <chrono>
#include <cstdint>

namespace cosched {

class DurationHistogram {
 public:
  void Add(std::chrono::nanoseconds
               duration);  // Below 1 ns counts as 1 ns, beyond the last bucket as the last.
  void Merge(const DurationHistogram& other);
  int64_t Count() const { return count_; }
  // The upper bound of the bucket in which the share `quantile` (0..1) is reached; 0 if empty.
  std::chrono::nanoseconds Quantile(double quantile) const;
  std::chrono::nanoseconds Max() const { return max_; }  // The longest one, exactly; 0 if empty.

 private:
  static constexpr int kSteps = 8;  // Buckets in each doubling.
  static constexpr int kBuckets = 40 * kSteps;
  static int Bucket(uint64_t value);
  static uint64_t UpperBound(int bucket);

  std::array<uint32_t, kBuckets> buckets_{};
  int64_t count_ = 0;
  std::chrono::nanoseconds max_{0};
};

}  // namespace cosched
