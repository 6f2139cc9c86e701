#pragma once
// Numbers and dates as traces write them, read exactly: times become integer nanoseconds straight
// from their decimal digits, never by way of a double. What lies below a nanosecond is rounded
// half away from zero (0.0000000005 s is 1 ns). Pure functions; false means that the whole text is
// not such a number or that it does not fit; the result is then untouched.

#include <charconv>
#include <cstdint>
#include <string_view>

#include "engine/base/clock.h"

namespace cosched {

// [-]digits.
inline bool ParseInteger(std::string_view text, int64_t* value) {
  constexpr size_t kSafeDigits = 18;  // So many can't overflow.
  const bool negative = !text.empty() && text.front() == '-';
  const size_t first = negative ? 1 : 0;
  if (text.size() - first > kSafeDigits) {
    int64_t parsed = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, parsed);
    if (error != std::errc() || rest != end) return false;
    *value = parsed;
    return true;
  }
  if (text.size() == first) return false;
  int64_t parsed = 0;
  for (size_t i = first; i < text.size(); ++i) {
    const auto digit = static_cast<unsigned>(text[i]) - '0';
    if (digit > 9) return false;
    parsed = parsed * 10 + digit;
  }
  *value = negative ? -parsed : parsed;
  return true;
}

// The decimal number times 10^decimals as an integer: "-12.5", "1e3", "+.5", "7.". No "inf", "nan".
bool ParseScaled(std::string_view text, int decimals, int64_t* value);

inline bool ParseSeconds(std::string_view text, Duration* value) {
  int64_t nanoseconds = 0;
  if (!ParseScaled(text, 9, &nanoseconds)) return false;
  *value = Duration(nanoseconds);
  return true;
}
inline bool ParseMilliseconds(std::string_view text, Duration* value) {
  int64_t nanoseconds = 0;
  if (!ParseScaled(text, 6, &nanoseconds)) return false;
  *value = Duration(nanoseconds);
  return true;
}

// "2023-11-16 18:15:46.6805900", also with '/' in the date, 'T' between, without seconds or
// fraction, and with a zone ("Z", "+00:00", "-0800"). Without a zone the clock is taken as it
// stands; with one, the result is the time in UTC. Since the start of 1970; years 1678 to 2261 fit.
bool ParseDateTime(std::string_view text, Duration* value);

// A whole number that may be written as a decimal ("57523.0", "1e3"). False for "0.5".
bool ParseWholeNumber(std::string_view text, int64_t* value);

}  // namespace cosched
