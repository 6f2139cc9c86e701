#include "traces/description/number_statistics.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cosched {
namespace {

// Integers beyond 2^53 are no longer exact as doubles: they stay with the decimals.
constexpr double kExactIntegers = 0x1p53;

}  // namespace

void NumberStatistics::Add(double value) {
  if (std::abs(value) <= kExactIntegers && value == std::trunc(value)) {
    Add(static_cast<int64_t>(value));
    return;
  }
  ++decimals_;
  smallest_decimal_ = std::min(smallest_decimal_, value);
  largest_decimal_ = std::max(largest_decimal_, value);
  const double sum = decimal_sum_ + value;
  correction_ += std::abs(decimal_sum_) >= std::abs(value) ? (decimal_sum_ - sum) + value
                                                           : (value - sum) + decimal_sum_;
  decimal_sum_ = sum;
  histogram_.Add(value);
}

const NumberStatistics& NumberStatistics::Settled() const {
  for (size_t value = 0; value < kSmall; ++value) {
    if (small_[value] == 0) continue;
    AddInteger(static_cast<int64_t>(value), small_[value]);
    small_[value] = 0;
  }
  return *this;
}

double NumberStatistics::Sum() const {
  return static_cast<double>(Settled().integer_sum_) + (decimal_sum_ + correction_);
}

std::optional<Int128> NumberStatistics::IntegerSum() const {
  if (!AllIntegers()) return std::nullopt;
  return Settled().integer_sum_;
}

std::optional<int64_t> NumberStatistics::IntegerMin() const {
  if (!AllIntegers() || count() == 0) return std::nullopt;
  return Settled().smallest_integer_;
}

std::optional<int64_t> NumberStatistics::IntegerMax() const {
  if (!AllIntegers() || count() == 0) return std::nullopt;
  return Settled().largest_integer_;
}

double NumberStatistics::Min() const {
  if (decimals_ == count()) return smallest_decimal_;
  return std::min(static_cast<double>(Settled().smallest_integer_), smallest_decimal_);
}

double NumberStatistics::Max() const {
  if (decimals_ == count()) return largest_decimal_;
  return std::max(static_cast<double>(Settled().largest_integer_), largest_decimal_);
}

double NumberStatistics::Quantile(double share) const {
  return std::clamp(histogram().Quantile(share, AllIntegers()), Min(), Max());
}

bool ParseDecimal(std::string_view text, double* value) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double parsed = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || rest != end || !std::isfinite(parsed)) return false;
  *value = parsed;
  return true;
}

}  // namespace cosched
