#include "experiments/analysis/estimate.h"

#include <fmt/format.h>

#include "experiments/analysis/statistics.h"
#include "experiments/analysis/table_text.h"

namespace cosched {

Estimate MedianEstimate(const std::vector<double>& values) {
  const Interval interval = MedianInterval(values);
  return {Median(values), interval.low, interval.high, static_cast<int>(values.size())};
}

bool Decides(const Estimate& estimate) {
  return MedianLevel(estimate.samples) >= kLevelThatDecides;
}

std::string LevelText(int samples) {
  return samples < 2 ? "-" : LevelPercent(MedianLevel(samples));
}

std::string PercentText(const Estimate& estimate, bool sign) {
  const auto percent = [sign](double share) {
    return sign ? fmt::format("{:+.1f}", share * 100) : fmt::format("{:.1f}", share * 100);
  };
  if (estimate.samples < 2) return percent(estimate.value);
  return fmt::format("{} [{} {}]", percent(estimate.value), percent(estimate.low),
                     percent(estimate.high));
}

std::string NumberText(const Estimate& estimate) {
  if (estimate.samples < 2) return fmt::format("{:.2f}", estimate.value);
  return fmt::format("{:.2f} [{:.2f} {:.2f}]", estimate.value, estimate.low, estimate.high);
}

}  // namespace cosched
