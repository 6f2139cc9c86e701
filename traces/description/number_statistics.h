#pragma once
// What is said of a column of numbers, or of anything else that is counted up: count, smallest,
// largest and sum exactly, percentiles within ValueHistogram::kRelativeError. Sums of integers are
// exact; what is no integer is summed as doubles with Neumaier's correction. Not thread-safe.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "traces/description/value_histogram.h"
#include "traces/description/wide_integer.h"

namespace cosched {

class NumberStatistics {
 public:
  void Add(int64_t value) {
    if (static_cast<uint64_t>(value) < kSmall) {
      ++small_[static_cast<size_t>(value)];
    } else {
      AddInteger(value, 1);
    }
  }
  void Add(double value);  // Finite.

  int64_t count() const { return Settled().histogram_.count(); }
  bool AllIntegers() const { return decimals_ == 0; }
  double Sum() const;
  // nullopt where not all values are integers.
  std::optional<Int128> IntegerSum() const;
  std::optional<int64_t> IntegerMin() const;
  std::optional<int64_t> IntegerMax() const;
  // REQUIRES of these: count() > 0.
  double Min() const;
  double Max() const;
  double Mean() const { return Sum() / static_cast<double>(count()); }
  double Quantile(double share) const;  // ValueHistogram's, kept within Min() and Max().

  const ValueHistogram& histogram() const { return Settled().histogram_; }

 private:
  // Most numbers of most traces are small; they are only counted, and added up when somebody asks.
  static constexpr size_t kSmall = 1024;

  void AddInteger(int64_t value, int64_t times) const {
    if (value < smallest_integer_) smallest_integer_ = value;
    if (value > largest_integer_) largest_integer_ = value;
    integer_sum_ += Int128{value} * times;
    histogram_.Add(static_cast<double>(value), times);
  }
  const NumberStatistics& Settled() const;

  mutable std::array<int64_t, kSmall> small_ = {};
  mutable ValueHistogram histogram_;
  mutable int64_t smallest_integer_ = std::numeric_limits<int64_t>::max();
  mutable int64_t largest_integer_ = std::numeric_limits<int64_t>::min();
  mutable Int128 integer_sum_ = 0;
  int64_t decimals_ = 0;
  double smallest_decimal_ = std::numeric_limits<double>::infinity();
  double largest_decimal_ = -std::numeric_limits<double>::infinity();
  double decimal_sum_ = 0;
  double correction_ = 0;
};

// A number as trace files write it: [-+]digits[.digits][e[-+]digits], the whole text; finite.
bool ParseDecimal(std::string_view text, double* value);

}  // namespace cosched
