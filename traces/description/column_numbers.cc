#include "traces/description/column_numbers.h"

#include <algorithm>
#include <cmath>

#include "traces/input/numbers.h"

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
  int64_t integer = 0;
  double decimal = 0;
  if (ParseInteger(text, &integer)) {
    statistics_.Add(integer);
    if (!time_decided_) CompareWithTime(static_cast<double>(integer), since);
  } else if (ParseDecimal(text, &decimal)) {
    statistics_.Add(decimal);
    if (!time_decided_) CompareWithTime(decimal, since);
  } else {
    AddOther(text);
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
