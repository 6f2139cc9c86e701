#include "traces/description/column_numbers.h"

#include <algorithm>
#include <cmath>

namespace cosched {
namespace {

constexpr int64_t kFewestToGiveUp = 100;
constexpr std::array kSecondsPerUnit = {1.0, 1e-3, 1e-6, 1e-9};
constexpr int64_t kRowsCompared = 64;
constexpr double kTolerance_s = 2e-6;  // What doubles lose of seconds since 1970, and a bit.
// Times that all lie within the tolerance say nothing.
constexpr Duration kTimeMoved = std::chrono::milliseconds(5);

bool TooFewNumbers(int64_t numbers, int64_t others) { return others * 10 > numbers + others; }

}  // namespace

void ColumnNumbers::Add(std::string_view text, Duration since) {
  if (text.empty()) {
    ++missing_;
    return;
  }
  const ParsedNumber number = ParseNumber(text);
  switch (number.kind) {
    case ParsedNumber::Kind::kInteger:
      statistics_.Add(number.integer);
      if (!time_decided_) CompareWithTime(static_cast<double>(number.integer), since);
      return;
    case ParsedNumber::Kind::kDecimal:
      statistics_.Add(number.decimal);
      if (!time_decided_) CompareWithTime(number.decimal, since);
      return;
    case ParsedNumber::Kind::kNone: AddOther(text);
  }
}

void ColumnNumbers::AddOther(std::string_view text) {
  constexpr std::array<std::string_view, 9> kMissing = {"NA",   "N/A",  "NaN", "nan", "None",
                                                        "null", "NULL", "-",   "?"};
  if (std::find(kMissing.begin(), kMissing.end(), text) != kMissing.end()) {
    ++missing_;
    return;
  }
  ++others_;
  if (others_ + statistics_.count() >= kFewestToGiveUp &&
      TooFewNumbers(statistics_.count(), others_)) {
    given_up_ = true;
  }
}

void ColumnNumbers::CompareWithTime(double value, Duration since) {
  if (++compared_ == 1) first_ = since;
  last_ = since;
  bool any = false;
  for (size_t unit = 0; unit < kUnits; ++unit) {
    const double ahead = value * kSecondsPerUnit[unit] - ToSeconds(since);
    if (compared_ == 1) ahead_s_[unit] = ahead;
    if (ahead_s_[unit] && std::abs(ahead - *ahead_s_[unit]) > kTolerance_s) ahead_s_[unit].reset();
    any |= ahead_s_[unit].has_value();
  }
  time_decided_ = !any || (compared_ >= kRowsCompared && IsTime());
  given_up_ |= IsTime() && time_decided_;
}

bool ColumnNumbers::IsTime() const {
  return last_ - first_ >= kTimeMoved &&
         std::any_of(ahead_s_.begin(), ahead_s_.end(),
                     [](const auto& ahead) { return ahead.has_value(); });
}

bool ColumnNumbers::IsNumbers() const {
  return !given_up_ && !IsTime() && statistics_.count() > 0 &&
         !TooFewNumbers(statistics_.count(), others_);
}

}  // namespace cosched
