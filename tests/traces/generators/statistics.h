#pragma once
// What the tests of the generators measure: moments, the index of dispersion of counts, and the
// distance of Kolmogorov and Smirnov.

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace cosched {

inline double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

inline double VarianceOf(const std::vector<double>& values) {
  const double mean = MeanOf(values);
  double sum = 0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

// Coefficient of variation.
inline double CvOf(const std::vector<double>& values) {
  return std::sqrt(VarianceOf(values)) / MeanOf(values);
}

// Variance over mean of the counts in windows of this length; a last, unfinished one is left out.
inline double IndexOfDispersion(const std::vector<double>& times, double window) {
  std::vector<double> counts;
  double count = 0;
  double end = window;
  for (double time : times) {
    while (time >= end) {
      counts.push_back(count);
      count = 0;
      end += window;
    }
    ++count;
  }
  return VarianceOf(counts) / MeanOf(counts);
}

// The largest distance between the values' distribution and `cdf`, times sqrt(n): below 1.95 with a
// probability of 99.9 % where they are drawn from it.
inline double KolmogorovSmirnov(std::vector<double> values,
                                const std::function<double(double)>& cdf) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = cdf(values[i]);
    distance = std::max({distance, std::abs(expected - static_cast<double>(i) / n),
                         std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  return distance * std::sqrt(n);
}
constexpr double kKolmogorovSmirnovLimit = 1.95;

}  // namespace cosched
