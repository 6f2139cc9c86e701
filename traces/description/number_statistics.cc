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

double NumberStatistics::Sum() const {
  return static_cast<double>(integer_sum_) + (decimal_sum_ + correction_);
}

std::optional<Int128> NumberStatistics::IntegerSum() const {
  if (!AllIntegers()) return std::nullopt;
  return integer_sum_;
}

std::optional<int64_t> NumberStatistics::IntegerMin() const {
  if (!AllIntegers() || count() == 0) return std::nullopt;
  return smallest_integer_;
}

std::optional<int64_t> NumberStatistics::IntegerMax() const {
  if (!AllIntegers() || count() == 0) return std::nullopt;
  return largest_integer_;
}

double NumberStatistics::Min() const {
  if (decimals_ == count()) return smallest_decimal_;
  return std::min(static_cast<double>(smallest_integer_), smallest_decimal_);
}

double NumberStatistics::Max() const {
  if (decimals_ == count()) return largest_decimal_;
  return std::max(static_cast<double>(largest_integer_), largest_decimal_);
}

double NumberStatistics::Quantile(double share) const {
  return std::clamp(histogram_.Quantile(share, AllIntegers()), Min(), Max());
}

ParsedNumber ParseNumber(std::string_view text) {
  constexpr size_t kSafeDigits = 18;  // Fewer than 10^18 can't overflow.
  if (!text.empty() && text.size() <= kSafeDigits) {
    int64_t value = 0;
    bool digits = true;
    for (char c : text) {
      digits &= c >= '0' && c <= '9';
      value = 10 * value + (c - '0');
    }
    if (digits) return {.kind = ParsedNumber::Kind::kInteger, .integer = value};
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  ParsedNumber number;
  const auto [integer_end, integer_error] = std::from_chars(text.data(), end, number.integer);
  if (integer_error == std::errc() && integer_end == end) {
    number.kind = ParsedNumber::Kind::kInteger;
    return number;
  }
  const auto [decimal_end, decimal_error] = std::from_chars(text.data(), end, number.decimal);
  const bool parsed =
      decimal_error == std::errc() && decimal_end == end && std::isfinite(number.decimal);
  number.kind = parsed ? ParsedNumber::Kind::kDecimal : ParsedNumber::Kind::kNone;
  return number;
}

}  // namespace cosched
