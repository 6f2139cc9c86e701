#include "experiments/analysis/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "experiments/analysis/estimate.h"
#include "experiments/analysis/statistics.h"

namespace cosched {
namespace {

constexpr int kHalvings = 500;
constexpr uint64_t kRankingSeed = 20231;

int Sign(double value) { return (value > 0) - (value < 0); }

std::vector<int> AllTrials(int trials) {
  std::vector<int> all(static_cast<size_t>(trials));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Mean of each policy over these trials.
std::vector<double> Means(const CostTable& costs, const std::vector<int>& trials) {
  std::vector<double> means(costs.front().size(), 0.0);
  for (const int trial : trials) {
    for (size_t policy = 0; policy < means.size(); ++policy)
      means[policy] +=
          costs[static_cast<size_t>(trial)][policy] / static_cast<double>(trials.size());
  }
  return means;
}

// The ranking by one half of the trials against that by the other.
std::optional<double> AgainstItself(const CostTable& costs) {
  if (costs.size() < 2) return std::nullopt;
  Random random(kRankingSeed);
  std::vector<int> order = AllTrials(static_cast<int>(costs.size()));
  std::vector<double> taus;
  for (int i = 0; i < kHalvings; ++i) {
    for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.Below(k)]);
    const auto half = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
    taus.push_back(
        KendallTau(Means(costs, {order.begin(), half}), Means(costs, {half, order.end()})));
  }
  return Median(taus);
}

// Cost of policy a over that of b, in logarithms, by trial.
std::vector<double> LogRatios(const CostTable& costs, size_t a, size_t b) {
  std::vector<double> ratios;
  for (const std::vector<double>& trial : costs) ratios.push_back(std::log(trial[a] / trial[b]));
  return ratios;
}

// By policy and policy: whether the hardware tells them apart.
using PairTable = std::vector<std::vector<bool>>;

// Which of two policies the hardware finds cheaper: -1: a, 0: they can't be told apart, 1: b.
int CheaperOne(const CostTable& measured, size_t a, size_t b) {
  const Estimate ratio = MedianEstimate(LogRatios(measured, a, b));
  if (!Decides(ratio) || (ratio.low <= 0 && ratio.high >= 0)) return 0;
  return Sign(ratio.value);
}

PairTable CountPairs(const CostTable& measured, const CostTable& simulated,
                     RankingAgreement* result) {
  const size_t policies = measured.front().size();
  PairTable apart(policies, std::vector<bool>(policies, false));
  for (size_t a = 0; a < policies; ++a) {
    for (size_t b = a + 1; b < policies; ++b) {
      ++result->pairs;
      const int told = CheaperOne(measured, a, b);
      apart[a][b] = apart[b][a] = told != 0;
      result->told_apart += told != 0;
      result->ordered_alike += told != 0 && told == Sign(Median(LogRatios(simulated, a, b)));
    }
  }
  return apart;
}

void AddToldRegret(const CostTable& measured, const CostTable& simulated, const PairTable& apart,
                   RankingAgreement* result) {
  for (size_t trial = 0; trial < measured.size(); ++trial) {
    const std::vector<double>& real = measured[trial];
    const std::vector<double>& costs = simulated[trial];
    const auto chosen =
        static_cast<size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
    const auto best =
        static_cast<size_t>(std::min_element(real.begin(), real.end()) - real.begin());
    double least = real[chosen];
    for (size_t policy = 0; policy < real.size(); ++policy) {
      if (apart[chosen][policy]) least = std::min(least, real[policy]);
    }
    result->told_regret += (real[chosen] / least - 1) / static_cast<double>(measured.size());
    result->no_answer += real[best] < real[chosen] && !apart[chosen][best];
  }
}

}  // namespace

double KendallTau(const std::vector<double>& a, const std::vector<double>& b) {
  CHECK(a.size() == b.size()) << a.size() << " and " << b.size() << " policies";
  if (a.size() < 2) return 1;
  double concordance = 0, pairs_a = 0, pairs_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = i + 1; j < a.size(); ++j) {
      const int in_a = Sign(a[i] - a[j]), in_b = Sign(b[i] - b[j]);
      concordance += in_a * in_b;
      pairs_a += in_a != 0;
      pairs_b += in_b != 0;
    }
  }
  return pairs_a == 0 || pairs_b == 0 ? 0 : concordance / std::sqrt(pairs_a * pairs_b);
}

bool WinnerAgrees(const std::vector<double>& a, const std::vector<double>& b) {
  CHECK(a.size() == b.size() && !a.empty()) << a.size() << " and " << b.size() << " policies";
  const auto best_b = std::min_element(b.begin(), b.end()) - b.begin();
  return a[static_cast<size_t>(best_b)] == *std::min_element(a.begin(), a.end());
}

double Regret(const std::vector<double>& real, const std::vector<double>& chosen) {
  CHECK(real.size() == chosen.size() && !real.empty())
      << real.size() << " and " << chosen.size() << " policies";
  const double best_chosen = *std::min_element(chosen.begin(), chosen.end());
  const double best_real = *std::min_element(real.begin(), real.end());
  double cost = best_real;
  for (size_t i = 0; i < real.size(); ++i) {
    if (chosen[i] == best_chosen) cost = std::max(cost, real[i]);
  }
  return cost / best_real - 1;
}

RankingAgreement CompareRankings(const CostTable& measured, const CostTable& simulated) {
  CHECK(!measured.empty() && measured.size() == simulated.size())
      << measured.size() << " and " << simulated.size() << " trials";
  RankingAgreement result;
  std::vector<double> taus, regrets;
  for (size_t trial = 0; trial < measured.size(); ++trial) {
    taus.push_back(KendallTau(measured[trial], simulated[trial]));
    regrets.push_back(Regret(measured[trial], simulated[trial]));
    result.winner_agrees += WinnerAgrees(measured[trial], simulated[trial]) ? 1 : 0;
  }
  result.tau = MedianEstimate(taus);
  result.regret = MedianEstimate(regrets);
  result.mean_regret = Mean(regrets);
  const std::vector<int> all = AllTrials(static_cast<int>(measured.size()));
  result.tau_of_means = KendallTau(Means(measured, all), Means(simulated, all));
  result.measured_tau = AgainstItself(measured);
  const PairTable apart = CountPairs(measured, simulated, &result);
  AddToldRegret(measured, simulated, apart, &result);
  return result;
}

}  // namespace cosched
