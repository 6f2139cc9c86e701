#pragma once
// The statistics behind every comparison (DESIGN.md, section 7). Pure functions on plain numbers;
// equal input gives equal output on every machine, the bootstrap included.

#include <cstdint>
#include <vector>

namespace cosched {

double Mean(const std::vector<double>& values);  // 0 if empty.
double Median(std::vector<double> values);       // 0 if empty.
// Linear interpolation between order statistics; share in [0, 1]. 0 if empty.
double Quantile(std::vector<double> values, double share);

struct Interval {
  double low = 0;
  double high = 0;
};
// Percentile bootstrap of the median, 95 %, with a fixed seed. With fewer than about six values it
// is little more than their range, and says so by its width.
Interval MedianInterval(const std::vector<double>& values);

// Mann-Whitney U of two independent samples, two-sided. Exact (ties too, by counting all
// assignments of the midranks) up to 50 values in all, the normal approximation with tie and
// continuity correction beyond.
struct MannWhitney {
  double u = 0;  // Pairs in which a > b, ties counting one half.
  double p = 1;  // 1 if either sample is empty.
};
MannWhitney MannWhitneyU(const std::vector<double>& a, const std::vector<double>& b);

// Effect size: P(a > b) − P(a < b), from −1 to 1. 0 if either is empty.
double CliffsDelta(const std::vector<double>& a, const std::vector<double>& b);

// Jain's fairness index, (Σx)² / (n Σx²), of n values with these sums: 1 when all are equal, 1/n
// when one has everything. 1 if there are none, or all are zero.
double JainIndex(double sum, double sum_of_squares, int64_t count);

}  // namespace cosched
