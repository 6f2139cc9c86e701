#pragma once
// One number a trial (a whole trace, a run) becomes one estimate: their median, between two of them
// that hold the true median with a known level. How such estimates are written, too. Used by
// whatever tells one: calibrate, validate, replay. Pure.

#include <string>
#include <vector>

#include "workloads/profile.h"

namespace cosched {

// The interval's level follows from the number of values (MedianLevel,
// experiments/analysis/statistics.h); one value has none. All 0 if there are no values.
Estimate MedianEstimate(const std::vector<double>& values);

// Six values are the fewest whose range holds the median with 95 % or more.
inline constexpr double kLevelThatDecides = 0.95;
bool Decides(const Estimate& estimate);
inline constexpr int kTrialsThatDecide = 6;

// "96.8 %"; "-" for fewer than two values, which have no interval.
std::string LevelText(int samples);

// Shares as percent, "+1.2 [-0.3 +2.0]"; the median alone if there is no interval.
std::string PercentText(const Estimate& estimate, bool sign);
// "0.62 [0.33 0.87]".
std::string NumberText(const Estimate& estimate);

}  // namespace cosched
