#include "experiments/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "engine/base/random.h"

namespace cosched {
namespace {

constexpr int kResamples = 2000;
constexpr uint64_t kBootstrapSeed = 20231;
constexpr size_t kExactLimit = 50;

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
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

Interval MedianInterval(const std::vector<double>& values) {
  if (values.empty()) return {};
  Random random(kBootstrapSeed);
  std::vector<double> medians;
  std::vector<double> resample(values.size());
  for (int i = 0; i < kResamples; ++i) {
    for (double& value : resample) value = values[random.Below(values.size())];
    medians.push_back(Median(resample));
  }
  return {Quantile(medians, 0.025), Quantile(medians, 0.975)};
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
