#include "experiments/table_text.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/statistics.h"

namespace cosched {

std::string Number(double value) {
  if (std::abs(value) >= 99.95) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, std::abs(value) >= 9.995 ? 1 : 2);
}

std::string Percent(double share) {
  const double value = share * 100;
  if (value == 0) return "0";
  return fmt::format("{:.{}f}", value, value >= 9.95 ? 0 : 1);
}

std::string MedianText(const std::vector<double>& values, std::string (*format)(double),
                       int width) {
  if (values.empty()) return fmt::format("{:>{}}", "-", width);
  std::string median = fmt::format("{:>{}}", format(Median(values)), width);
  if (values.size() == 1) return median;
  const Interval interval = MedianInterval(values);
  if (interval.low == interval.high) return median;
  return fmt::format("{} [{} {}]", median, format(interval.low), format(interval.high));
}

}  // namespace cosched
