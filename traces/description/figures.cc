#include "traces/description/figures.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace cosched {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

struct NamedDuration {
  const char* name;
  int64_t nanoseconds;
};
constexpr std::array kUnits = {NamedDuration{"d", 86'400 * kNanosecondsPerSecond},
                               NamedDuration{"h", 3'600 * kNanosecondsPerSecond},
                               NamedDuration{"min", 60 * kNanosecondsPerSecond},
                               NamedDuration{"s", kNanosecondsPerSecond},
                               NamedDuration{"ms", 1'000'000},
                               NamedDuration{"us", 1'000},
                               NamedDuration{"ns", 1}};

// The nine digits behind a second's point, without zeros at the end, with the point.
std::string Fraction(int64_t nanoseconds) {
  if (nanoseconds == 0) return "";
  std::string digits = fmt::format(".{:09}", nanoseconds);
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

}  // namespace

std::string Grouped(Int128 value) {
  const bool negative = value < 0;
  Uint128 rest = negative ? -static_cast<Uint128>(value) : static_cast<Uint128>(value);
  std::string text;
  for (int digits = 0; digits == 0 || rest != 0; ++digits, rest /= 10) {
    if (digits > 0 && digits % 3 == 0) text.insert(0, 1, ',');
    text.insert(0, 1, static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  return negative ? "-" + text : text;
}

std::string RoundedFigure(double value) {
  constexpr double kWhole = 1e3;  // From here on four digits leave nothing behind the point.
  constexpr double kExponentFrom = 1e12;  // Wider than any column should be.
  if (std::abs(value) >= kWhole && std::abs(value) < kExponentFrom)
    return Grouped(static_cast<Int128>(std::llround(value)));
  return fmt::format("{:.4g}", value);
}

std::string ExactSeconds(Duration time) {
  const int64_t seconds = time.count() / kNanosecondsPerSecond;
  const std::string sign = seconds == 0 && time.count() < 0 ? "-" : "";
  return sign + Grouped(seconds) + Fraction(std::abs(time.count() % kNanosecondsPerSecond));
}

std::string HumanDuration(Duration time) {
  const int64_t nanoseconds = time.count();
  if (nanoseconds < 60 * kNanosecondsPerSecond) return AxisDuration(time);
  size_t unit = 0;
  while (nanoseconds < kUnits[unit].nanoseconds) ++unit;
  // Rounded to the smaller unit first: never "1 h 60 min".
  const NamedDuration& small = kUnits[unit + 1];
  const int64_t rounded = (nanoseconds + small.nanoseconds / 2) / small.nanoseconds;
  if (unit > 0 && rounded * small.nanoseconds >= kUnits[unit - 1].nanoseconds)
    return fmt::format("1 {}", kUnits[unit - 1].name);
  const int64_t ratio = kUnits[unit].nanoseconds / small.nanoseconds;
  const std::string large = fmt::format("{} {}", Grouped(rounded / ratio), kUnits[unit].name);
  return rounded % ratio == 0 ? large : fmt::format("{} {} {}", large, rounded % ratio, small.name);
}

std::string AxisDuration(Duration time) {
  if (time.count() == 0) return "0";
  size_t unit = 0;
  while (time.count() < kUnits[unit].nanoseconds) ++unit;
  const double value =
      static_cast<double>(time.count()) / static_cast<double>(kUnits[unit].nanoseconds);
  constexpr double kWhole = 100;  // From here on three digits leave nothing behind the point.
  if (value >= kWhole) return fmt::format("{} {}", Grouped(std::llround(value)), kUnits[unit].name);
  return fmt::format("{:.3g} {}", value, kUnits[unit].name);
}

std::string DateText(Duration time) {
  constexpr std::chrono::seconds kFrom{631'152'000};  // 1990: nobody's offset is as long as that.
  if (time < kFrom) return "";
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto fraction = time - seconds;
  return fmt::format("{:%Y-%m-%d %H:%M:%S}{}",
                     fmt::gmtime(static_cast<std::time_t>(seconds.count())),
                     Fraction(fraction.count()));
}

TimeUnit UnitFor(double nanoseconds) {
  for (const NamedDuration& unit : kUnits) {
    if (unit.nanoseconds > kNanosecondsPerSecond) continue;  // Tables stay with seconds.
    const auto size = static_cast<double>(unit.nanoseconds);
    if (nanoseconds >= size / 10 || unit.nanoseconds == 1) return {unit.name, size};
  }
  return {"s", kNanosecondsPerSecond};
}

}  // namespace cosched
