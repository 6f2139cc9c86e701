#include "experiments/analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace cosched {
namespace {

constexpr size_t kExactLimit = 50;
constexpr size_t kExactPairs = 10'000;       // In two samples: beyond, U is as good as normal.
constexpr double kPower = 0.84162123357291;  // Normal quantile of 0.8: found in 4 of 5.
constexpr double kRankEfficiency = 3 / 3.14159265358979;  // The signed ranks' against Student's t.

// Twice the midranks of a then b in the pooled sample, so that ties stay whole numbers.
std::vector<int> DoubledRanks(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> pooled = a;
  pooled.insert(pooled.end(), b.begin(), b.end());
  std::vector<double> sorted = pooled;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> ranks;
  for (const double value : pooled) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    ranks.push_back(static_cast<int>((first - sorted.begin()) + (last - sorted.begin()) + 1));
  }
  return ranks;
}

// Share of all ways to choose `chosen` of the ranks whose sum is at least as far from the mean as
// `observed`.
double ExactTail(const std::vector<int>& ranks, size_t chosen, int observed) {
  const int total = std::accumulate(ranks.begin(), ranks.end(), 0);
  // ways[k][s]: the number of subsets of k ranks with sum s. Doubles: exact below 2^53, and only a
  // ratio is needed.
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(total + 1, 0.0));
  ways[0][0] = 1;
  for (const int rank : ranks) {
    for (size_t k = chosen; k >= 1; --k) {
      for (int sum = total; sum >= rank; --sum) ways[k][sum] += ways[k - 1][sum - rank];
    }
  }
  const double mean =
      static_cast<double>(total) * static_cast<double>(chosen) / static_cast<double>(ranks.size());
  const double distance = std::abs(observed - mean) - 1e-9;
  double all = 0, far = 0;
  for (int sum = 0; sum <= total; ++sum) {
    all += ways[chosen][sum];
    if (std::abs(sum - mean) >= distance) far += ways[chosen][sum];
  }
  return far / all;
}

double NormalTail(const std::vector<double>& a, const std::vector<double>& b, double u) {
  const double n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  std::vector<double> pooled = a;
  pooled.insert(pooled.end(), b.begin(), b.end());
  std::sort(pooled.begin(), pooled.end());
  double ties = 0;
  for (auto first = pooled.begin(); first != pooled.end();) {
    const auto last = std::upper_bound(first, pooled.end(), *first);
    const double count = static_cast<double>(last - first);
    ties += count * count * count - count;
    first = last;
  }
  const double total = n + m;
  const double variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)));
  if (variance <= 0) return 1;
  const double z = std::max(0.0, std::abs(u - n * m / 2) - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

// Share of all ways to sign these ranks whose positive sum is at least as far from the mean as
// `observed`.
double ExactSigns(const std::vector<int>& ranks, int observed) {
  const int total = std::accumulate(ranks.begin(), ranks.end(), 0);
  std::vector<double> ways(static_cast<size_t>(total) + 1, 0.0);  // By sum.
  ways[0] = 1;
  for (const int rank : ranks) {
    for (int sum = total; sum >= rank; --sum) ways[sum] += ways[sum - rank];
  }
  double all = 0, far = 0;
  for (int sum = 0; sum <= total; ++sum) {
    all += ways[sum];
    if (std::abs(2 * sum - total) >= std::abs(2 * observed - total)) far += ways[sum];
  }
  return far / all;
}

// ranks: doubled.
double NormalSigns(const std::vector<int>& ranks, double observed) {
  double total = 0, squares = 0;
  for (const double rank : ranks) {
    total += rank;
    squares += rank * rank;
  }
  // The doubled correction of 1/2.
  const double z = std::max(0.0, std::abs(observed - total / 2) - 1) / std::sqrt(squares / 4);
  return std::erfc(z / std::sqrt(2.0));
}

// P(U < k) of Mann-Whitney's U without ties, by k from 0 to n m.
std::vector<double> RankSumTails(size_t n, size_t m) {
  // ways[i][u]: arrangements of i of the one sample among j of the other with U = u, j growing.
  const size_t most = n * m;
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(most + 1, 0.0));
  for (size_t i = 0; i <= n; ++i) ways[i][0] = 1;
  for (size_t j = 1; j <= m; ++j) {
    // An arrangement ends with one of the other sample (i of the one lie below it: as without it,
    // U counts them) or with one of the one sample.
    for (size_t i = 1; i <= n; ++i) {
      for (size_t u = most + 1; u-- > 0;) {
        const double last_of_other = u >= i ? ways[i][u - i] : 0;
        ways[i][u] = last_of_other + ways[i - 1][u];
      }
    }
  }
  const double all = std::accumulate(ways[n].begin(), ways[n].end(), 0.0);
  std::vector<double> below(most + 1, 0.0);
  for (size_t u = 1; u <= most; ++u) below[u] = below[u - 1] + ways[n][u - 1] / all;
  return below;
}

double NormalBelow(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// P(U < k) of Mann-Whitney's U of n and m values without ties.
class RankSumDistribution {
 public:
  RankSumDistribution(size_t n, size_t m)
      : mean_(static_cast<double>(n * m) / 2),
        deviation_(std::sqrt(static_cast<double>(n * m) * static_cast<double>(n + m + 1) / 12)) {
    if (n * m <= kExactPairs) exact_ = RankSumTails(n, m);
  }
  double Below(size_t k) const {
    if (!exact_.empty()) return exact_[k];
    return NormalBelow((static_cast<double>(k) - 0.5 - mean_) / deviation_);
  }

 private:
  double mean_, deviation_;
  std::vector<double> exact_;  // By k; empty where there are too many pairs to count.
};

// How many of n values the median's interval leaves out at each end, and how often that misses it.
struct Trim {
  size_t values = 0;
  double missed = 1;
};

// REQUIRES: n >= 2.
Trim TrimFor(size_t n, double wanted) {
  // P(k of n values lie below the median), from k = 0; in logarithms because 2^-n may underflow.
  const auto count = static_cast<double>(n);
  double log_tail = -count * std::log(2.0);
  Trim trim{.values = 0, .missed = 2 * std::exp(log_tail)};
  for (size_t next = 1; next < n / 2; ++next) {
    log_tail += std::log((count - static_cast<double>(next) + 1) / static_cast<double>(next));
    const double missed = trim.missed + 2 * std::exp(log_tail);
    if (1 - missed < wanted) break;
    trim = {.values = next, .missed = missed};
  }
  return trim;
}

}  // namespace

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = share * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double part = position - static_cast<double>(below);
  if (part == 0 || values[above] == values[below]) return values[below];  // Maybe without bound.
  return values[below] + part * (values[above] - values[below]);
}

Interval MedianInterval(std::vector<double> values, double wanted) {
  const size_t n = values.size();
  if (n == 0) return {};
  std::sort(values.begin(), values.end());
  if (n == 1) return {.low = values[0], .high = values[0], .level = 0, .range = true};
  const Trim trim = TrimFor(n, wanted);
  return {.low = values[trim.values],
          .high = values[n - 1 - trim.values],
          .level = 1 - trim.missed,
          .range = trim.values == 0};
}

double MedianLevel(int values, double wanted) {
  return values < 2 ? 0 : 1 - TrimFor(static_cast<size_t>(values), wanted).missed;
}

SignedRank SignedRankTest(const std::vector<double>& differences) {
  SignedRank result;
  std::vector<double> sizes;
  for (const double difference : differences) sizes.push_back(std::abs(difference));
  std::vector<double> sorted = sizes;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> ranks;  // Doubled midranks of those that are not 0.
  int64_t positive = 0, negative = 0;
  for (size_t i = 0; i < differences.size(); ++i) {
    if (differences[i] == 0) {
      ++result.zero;
      continue;
    }
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), sizes[i]);
    ranks.push_back(static_cast<int>((first - sorted.begin()) + (last - sorted.begin()) + 1));
    (differences[i] > 0 ? positive : negative) += ranks.back();
    ++(differences[i] > 0 ? result.positive : result.negative);
  }
  if (ranks.empty()) return result;
  const double total = static_cast<double>(positive + negative);
  result.effect = static_cast<double>(positive - negative) / total;
  result.p = differences.size() <= kExactLimit ? ExactSigns(ranks, static_cast<int>(positive))
                                               : NormalSigns(ranks, static_cast<double>(positive));
  return result;
}

double SmallestSignedRankP(int pairs) { return std::min(1.0, 2 * std::exp2(-pairs)); }

std::vector<double> HolmAdjusted(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&p](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    adjusted[order[i]] = most;
  }
  return adjusted;
}

RatioEstimate IndependentRatio(const std::vector<double>& a, const std::vector<double>& b,
                               double wanted) {
  RatioEstimate result;
  if (a.empty() || b.empty()) return result;
  std::vector<double> ratios;
  for (const double x : a) {
    for (const double y : b) ratios.push_back(y / x);
  }
  std::sort(ratios.begin(), ratios.end());
  result.ratio = std::exp(
      (std::log(ratios[(ratios.size() - 1) / 2]) + std::log(ratios[ratios.size() / 2])) / 2);
  const RankSumDistribution u(a.size(), b.size());
  // The interval leaves out the k smallest and the k largest ratios; it misses where U <= k.
  size_t k = 0;
  while (2 * (k + 1) < ratios.size() && 1 - 2 * u.Below(k + 2) >= wanted) ++k;
  result.interval = {.low = ratios[k],
                     .high = ratios[ratios.size() - 1 - k],
                     .level = std::max(0.0, 1 - 2 * u.Below(k + 1)),
                     .range = k == 0};
  return result;
}

double NormalQuantile(double share) {
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (NormalBelow(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<double> DetectableDifference(double spread, int trials, double alpha) {
  if (SmallestSignedRankP(trials) > alpha) return std::nullopt;
  const double sum = NormalQuantile(1 - alpha / 2) + kPower;
  return std::expm1(sum * spread / std::sqrt(trials * kRankEfficiency));
}

int TrialsNeeded(double spread, double difference, double alpha) {
  int trials = 1;
  while (SmallestSignedRankP(trials) > alpha) ++trials;
  const double sum = NormalQuantile(1 - alpha / 2) + kPower;
  const double root = sum * spread / std::log1p(difference);
  return std::max(trials, static_cast<int>(std::ceil(root * root / kRankEfficiency)));
}

MannWhitney MannWhitneyU(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return {};
  const std::vector<int> ranks = DoubledRanks(a, b);
  const int observed =
      std::accumulate(ranks.begin(), ranks.begin() + static_cast<int>(a.size()), 0);
  const double n = static_cast<double>(a.size());
  MannWhitney result;
  result.u = observed / 2.0 - n * (n + 1) / 2;
  result.p = ranks.size() <= kExactLimit ? ExactTail(ranks, a.size(), observed)
                                         : NormalTail(a, b, result.u);
  return result;
}

double CliffsDelta(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 0;
  double difference = 0;
  for (const double x : a) {
    for (const double y : b) difference += (x > y) - (x < y);
  }
  return difference / (static_cast<double>(a.size()) * static_cast<double>(b.size()));
}

double JainIndex(double sum, double sum_of_squares, int64_t count) {
  if (count == 0 || sum_of_squares == 0) return 1;
  return sum * sum / (static_cast<double>(count) * sum_of_squares);
}

}  // namespace cosched
