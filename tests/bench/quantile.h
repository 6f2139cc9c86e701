#pragma once
// Quantiles of what a benchmark timed one by one. Pure.

#include <algorithm>
#include <vector>

namespace cosched {

// REQUIRES: values is not empty; 0 <= q <= 1.
inline double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

// The mean of the middle two of an even number. REQUIRES: values is not empty.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace cosched
