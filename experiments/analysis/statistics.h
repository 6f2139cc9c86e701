#pragma once
// The statistics behind every comparison. Pure functions on plain numbers; equal input gives equal
// output on every machine. tests/experiments/analysis/coverage_test.cc shows that each interval
// covers what it says, tests/scipy_test.py that each p is scipy's.

#include <cstdint>
#include <optional>
#include <vector>

namespace cosched {

double Mean(const std::vector<double>& values);  // 0 if empty.
double Median(std::vector<double> values);       // 0 if empty.
// Linear interpolation between order statistics; share in [0, 1]. 0 if empty.
double Quantile(std::vector<double> values, double share);

// Where the true median lies. `level` is the probability that an interval made this way holds it,
// whatever the values' (continuous) distribution: it is told, never assumed to be 95 %.
struct Interval {
  double low = 0;
  double high = 0;
  double level = 0;    // 0.75 for the range of three; 0 = no interval (fewer than two values).
  bool range = false;  // From the smallest to the largest value: nothing wider can be had.
};
// Order statistics: the narrowest symmetric pair that covers the median with at least `wanted`, or
// the range where n is too small for that (n = 3: 75 %, 4: 87.5 %, 5: 93.75 %, 6: 96.9 %). Exact by
// the binomial distribution; ties make it cover more, never less.
Interval MedianInterval(std::vector<double> values, double wanted = 0.95);
// The level of the interval of so many values; 0 = no interval.
double MedianLevel(int values, double wanted = 0.95);

// Wilcoxon's signed-rank test of paired differences against 0, two-sided. Zeros are ranked with the
// others and then dropped (Pratt 1959), ties have midranks; exact (all signs of these ranks) up to
// 50 differences, the normal approximation with tie and continuity correction beyond.
struct SignedRank {
  double p = 1;       // 1 if there is no difference other than 0.
  double effect = 0;  // Matched-pairs rank-biserial correlation: from −1 (all negative) to 1.
  int positive = 0, negative = 0, zero = 0;  // Pairs.
};
SignedRank SignedRankTest(const std::vector<double>& differences);
// The smallest p that n pairs without ties can give: 2 / 2^n.
double SmallestSignedRankP(int pairs);

// Holm's step-down correction: adjusted p, in the order given; controls the chance of any false
// "differs" in the family (Holm 1979).
std::vector<double> HolmAdjusted(const std::vector<double>& p);

// How b compares with a where nothing pairs them: the median of all ratios b_j / a_i
// (Hodges-Lehmann of the logarithms) and its interval by inverting the Mann-Whitney test: exact for
// distributions that differ by a factor only, up to 10,000 ratios; beyond, U is taken for normal.
// REQUIRES: values above 0.
struct RatioEstimate {
  double ratio = 1;
  Interval interval;
};
RatioEstimate IndependentRatio(const std::vector<double>& a, const std::vector<double>& b,
                               double wanted = 0.95);

// z with P(standard normal < z) = share.
double NormalQuantile(double share);

// What n trials could show, from the spread of paired log ratios (sample standard deviation): the
// relative difference that a test at `alpha` finds in four of five experiments of `trials` trials,
// by the normal approximation; nullopt where `trials` pairs can't reach alpha whatever they show.
std::optional<double> DetectableDifference(double spread, int trials, double alpha);
// The other way round: the trials that would find `difference` (0.05 = 5 %).
int TrialsNeeded(double spread, double difference, double alpha);

// Only where data are independent (not where policies replayed the same trace): Mann-Whitney U of
// two samples, two-sided. Exact (ties too, by counting all
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
