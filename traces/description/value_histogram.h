#pragma once
// Counts of numbers in buckets of constant relative width, whatever their range: a bucket holds the
// doubles that share sign, exponent and the first 9 bits of the fraction, so that its middle is
// within 1/1024 of each of them (the scheme of HdrHistogram, http://hdrhistogram.org, with the
// double's own layout as the index). Memory: 4 KiB for each power of two that occurs, at most
// 16 MiB however many numbers there are. Part of a trace's description. Not thread-safe.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

namespace cosched {

class ValueHistogram {
 public:
  static constexpr double kRelativeError = 1.0 / 1024;

  // A finite number. Magnitudes below 2.3e-308 count as 0.
  void Add(double value, int64_t times = 1) {
    if (std::abs(value) < std::numeric_limits<double>::min()) value = 0;  // Without a sign.
    const uint64_t index = std::bit_cast<uint64_t>(value) >> kDroppedBits;
    std::unique_ptr<Page>& page = pages_[index >> kFractionBits];
    if (!page) page = std::make_unique<Page>();
    (*page)[index & (kPageSize - 1)] += times;
    count_ += times;
  }
  int64_t count() const { return count_; }

  // The smallest value that at least `share` of all values do not exceed (nearest rank), to within
  // kRelativeError of it. integers: all values were; then those below 1024 are exact.
  // REQUIRES: count() > 0, 0 <= share <= 1.
  double Quantile(double share, bool integers) const;

  // Buckets that hold something, upwards: the values' bounds (low <= high, by value) and how many.
  using Visit = std::function<void(double low, double high, int64_t count)>;
  void ForEach(const Visit& visit) const;

 private:
  static constexpr int kFractionBits = 9;
  static constexpr int kDroppedBits = 52 - kFractionBits;
  static constexpr int kPageSize = 1 << kFractionBits;
  static constexpr int kPages = 1 << 12;  // Sign and exponent.
  using Page = std::array<int64_t, kPageSize>;

  std::array<std::unique_ptr<Page>, kPages> pages_ = {};
  int64_t count_ = 0;
};

}  // namespace cosched
