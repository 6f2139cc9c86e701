#pragma once
// Arrivals over time as a chart for a terminal: columns of block characters with an axis, the rate
// upwards, time to the right. Pure.

#include <string>

#include "traces/description/rate_series.h"

namespace cosched {

// Lines of at most `columns` characters, each with its end. "" for what has no extent in time.
std::string RateChart(const RateSeries& series, Duration span, int columns);

// 7 rows and the axes; narrower makes no chart.
inline constexpr int kNarrowestChart = 40;

}  // namespace cosched
