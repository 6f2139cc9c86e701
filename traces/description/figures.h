#pragma once
// How figures are written in the description of a trace. Pure.

#include <cstdint>
#include <string>

#include "engine/base/clock.h"
#include "traces/description/wide_integer.h"

namespace cosched {

std::string Grouped(Int128 value);  // 22,361,870
std::string RoundedFigure(
    double value);  // Four significant digits: 0.1808, 1.234e-06, 22,361,870, 1.5e+12.
std::string ExactSeconds(Duration time);   // All digits, none in vain: 3,501.721937
std::string HumanDuration(Duration time);  // The two largest units: 58 min 22 s
std::string AxisDuration(Duration time);   // One unit: 29.2 min
// The date if it is since 1970: 2023-11-16 18:15:46.68059. "" for what can't be meant as one.
std::string DateText(Duration time);

// A unit in which a number of nanoseconds is short to write.
struct TimeUnit {
  const char* name;
  double nanoseconds;
};
TimeUnit UnitFor(double nanoseconds);

}  // namespace cosched
