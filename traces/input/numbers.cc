#include "traces/input/numbers.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace cosched {
namespace {

inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

// [+-] digits [. digits] [e[+-]digits], with its parts.
struct Decimal {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  int exponent = 0;
};

std::string_view TakeDigits(std::string_view* text) {
  size_t count = 0;
  while (count < text->size() && IsDigit((*text)[count])) ++count;
  const std::string_view digits = text->substr(0, count);
  text->remove_prefix(count);
  return digits;
}

bool TakeSign(std::string_view* text) {
  const bool negative = text->starts_with('-');
  if (negative || text->starts_with('+')) text->remove_prefix(1);
  return negative;
}

bool Dissect(std::string_view text, Decimal* decimal) {
  decimal->negative = TakeSign(&text);
  decimal->whole = TakeDigits(&text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    decimal->fraction = TakeDigits(&text);
  }
  if (decimal->whole.empty() && decimal->fraction.empty()) return false;
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  const bool negative = TakeSign(&text);
  const std::string_view digits = TakeDigits(&text);
  if (digits.empty() || !text.empty()) return false;
  // Beyond this the number is 0 or does not fit, whatever its digits (lines have at most 1 MiB).
  constexpr int kFar = 10'000'000;
  for (const char digit : digits)
    decimal->exponent = std::min(kFar, decimal->exponent * 10 + (digit - '0'));
  if (negative) decimal->exponent = -decimal->exponent;
  return true;
}

// Adds a digit; false if the result does not fit.
bool Append(char digit, int64_t* value) {
  return !__builtin_mul_overflow(*value, 10, value) &&
         !__builtin_add_overflow(*value, digit - '0', value);
}

// Any number; tells whether something was rounded away.
bool ParseAny(std::string_view text, int decimals, int64_t* value, bool* rounded) {
  Decimal decimal;
  if (!Dissect(text, &decimal)) return false;
  // So many digits, from the first, are before the point of the scaled number.
  const int64_t before = static_cast<int64_t>(decimal.whole.size()) + decimal.exponent + decimals;
  const auto there = static_cast<int64_t>(decimal.whole.size() + decimal.fraction.size());
  const auto digit = [&decimal](int64_t i) {
    const auto index = static_cast<size_t>(i);
    return index < decimal.whole.size() ? decimal.whole[index]
                                        : decimal.fraction[index - decimal.whole.size()];
  };
  int64_t scaled = 0;
  for (int64_t i = 0; i < std::min(before, there); ++i) {
    if (!Append(digit(i), &scaled)) return false;
  }
  if (scaled != 0) {
    for (int64_t i = there; i < before; ++i) {
      if (!Append('0', &scaled)) return false;
    }
  }
  *rounded = false;
  for (int64_t i = std::max<int64_t>(before, 0); i < there; ++i) *rounded |= digit(i) != '0';
  const bool round_up = before >= 0 && before < there && digit(before) >= '5';
  if (round_up && __builtin_add_overflow(scaled, 1, &scaled)) return false;
  *value = decimal.negative ? -scaled : scaled;
  return true;
}

bool TakeNumber(std::string_view* text, size_t digits, int* value) {
  if (text->size() < digits) return false;
  int number = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (!IsDigit((*text)[i])) return false;
    number = number * 10 + ((*text)[i] - '0');
  }
  text->remove_prefix(digits);
  *value = number;
  return true;
}

bool Take(char c, std::string_view* text) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}

// "", "Z", "+01:00", "+0100", "+01", " UTC": how far the clock is ahead of UTC.
bool ParseZone(std::string_view text, Duration* ahead) {
  *ahead = Duration::zero();
  if (text.empty() || text == "Z" || text == " UTC") return true;
  const bool behind = text.front() == '-';
  if (!behind && text.front() != '+') return false;
  text.remove_prefix(1);
  int hours = 0;
  int minutes = 0;
  if (!TakeNumber(&text, 2, &hours)) return false;
  if (!text.empty()) {
    Take(':', &text);
    if (!TakeNumber(&text, 2, &minutes) || !text.empty()) return false;
  }
  if (hours > 23 || minutes > 59) return false;
  *ahead = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  if (behind) *ahead = -*ahead;
  return true;
}

bool TakeDays(std::string_view* text, int64_t* days) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!TakeNumber(text, 4, &year) || text->empty()) return false;
  const char between = text->front();
  if ((between != '-' && between != '/') || !Take(between, text) || !TakeNumber(text, 2, &month) ||
      !Take(between, text) || !TakeNumber(text, 2, &day)) {
    return false;
  }
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok() || year < 1678 || year > 2261) return false;
  *days = std::chrono::sys_days(date).time_since_epoch().count();
  return true;
}

}  // namespace

bool ParseScaled(std::string_view text, int decimals, int64_t* value) {
  // The usual case, digits and perhaps a point with digits behind it, so few before the point that
  // nothing can overflow.
  constexpr ptrdiff_t kSafeWhole = 9;
  constexpr int64_t kPowers[] = {1,       10,        100,        1'000,       10'000,
                                 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};
  const bool negative = text.starts_with('-');
  const char* at = text.data() + (negative ? 1 : 0);
  const char* const end = text.data() + text.size();
  const char* const whole = at;
  int64_t scaled = 0;
  for (; at < end && at - whole <= kSafeWhole && IsDigit(*at); ++at)
    scaled = scaled * 10 + (*at - '0');
  const ptrdiff_t whole_digits = at - whole;
  // ".25" is a number too, and the fraction of each date.
  const bool has_digits = whole_digits > 0 || (end - at > 1 && *at == '.' && IsDigit(at[1]));
  if (has_digits && whole_digits <= kSafeWhole && decimals < std::ssize(kPowers)) {
    int missing = decimals;
    bool round_up = false;
    if (at < end && *at == '.') {
      for (++at; at < end && missing > 0 && IsDigit(*at); ++at, --missing)
        scaled = scaled * 10 + (*at - '0');
      if (missing == 0 && at < end) {
        round_up = *at >= '5';
        while (at < end && IsDigit(*at)) ++at;
      }
    }
    if (at == end) {
      scaled = scaled * kPowers[missing] + (round_up ? 1 : 0);
      *value = negative ? -scaled : scaled;
      return true;
    }
  }
  bool rounded = false;
  return ParseAny(text, decimals, value, &rounded);
}

bool ParseWholeNumber(std::string_view text, int64_t* value) {
  if (ParseInteger(text, value)) return true;
  int64_t parsed = 0;
  bool rounded = false;
  if (!ParseAny(text, 0, &parsed, &rounded) || rounded) return false;
  *value = parsed;
  return true;
}

bool ParseDateTime(std::string_view text, Duration* value) {
  int64_t days = 0;
  if (!TakeDays(&text, &days)) return false;
  int hour = 0;
  int minute = 0;
  int second = 0;
  Duration fraction{0};
  if (!text.empty()) {
    if (!Take(' ', &text) && !Take('T', &text)) return false;
    if (!TakeNumber(&text, 2, &hour) || !Take(':', &text) || !TakeNumber(&text, 2, &minute))
      return false;
    if (Take(':', &text)) {
      if (!TakeNumber(&text, 2, &second)) return false;
      if (text.starts_with('.')) {
        size_t length = 1;
        while (length < text.size() && IsDigit(text[length])) ++length;
        if (!ParseSeconds(text.substr(0, length), &fraction)) return false;
        text.remove_prefix(length);
      }
    }
  }
  Duration ahead{0};
  // 60 is a leap second; clocks that have none call it the next second.
  if (hour > 23 || minute > 59 || second > 60 || !ParseZone(text, &ahead)) return false;
  *value = std::chrono::hours(24 * days) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
           std::chrono::seconds(second) + fraction - ahead;
  return true;
}

}  // namespace cosched
