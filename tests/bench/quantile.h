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

}  // namespace cosched
