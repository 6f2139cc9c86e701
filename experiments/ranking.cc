#include "experiments/ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "experiments/statistics.h"

namespace cosched {
namespace {

constexpr int kDraws = 2000;
constexpr uint64_t kSeed = 20231;

int Sign(double value) { return (value > 0) - (value < 0); }

std::vector<int> AllTrials(int trials) {
  std::vector<int> all(static_cast<size_t>(trials));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int> Draw(int trials, Random* random) {
  std::vector<int> drawn(static_cast<size_t>(trials));
  for (int& trial : drawn) trial = static_cast<int>(random->Below(static_cast<uint64_t>(trials)));
  return drawn;
}

// Of each policy over these trials.
std::vector<double> Means(const CostTable& costs, const std::vector<int>& trials) {
  std::vector<double> means(costs.front().size(), 0.0);
  for (const int trial : trials) {
    for (size_t policy = 0; policy < means.size(); ++policy)
      means[policy] +=
          costs[static_cast<size_t>(trial)][policy] / static_cast<double>(trials.size());
  }
  return means;
}

double MeanOver(const std::vector<int>& trials, const std::function<double(size_t)>& value) {
  double sum = 0;
  for (const int trial : trials) sum += value(static_cast<size_t>(trial));
  return sum / static_cast<double>(trials.size());
}

// The ranking by one draw of trials against that by another.
Estimate AgainstItself(const CostTable& costs) {
  Random random(kSeed);
  std::vector<double> taus;
  const auto trials = static_cast<int>(costs.size());
  for (int i = 0; i < kDraws; ++i)
    taus.push_back(
        KendallTau(Means(costs, Draw(trials, &random)), Means(costs, Draw(trials, &random))));
  return {Median(taus), Quantile(taus, 0.025), Quantile(taus, 0.975), trials};
}

void CountPairs(const CostTable& measured, const CostTable& simulated, RankingAgreement* result) {
  const auto trials = static_cast<int>(measured.size());
  const std::vector<double> means = Means(simulated, AllTrials(trials));
  for (size_t a = 0; a < means.size(); ++a) {
    for (size_t b = a + 1; b < means.size(); ++b) {
      const Estimate difference = OverTrials(trials, [&](const std::vector<int>& drawn) {
        return MeanOver(drawn,
                        [&](size_t trial) { return measured[trial][a] - measured[trial][b]; });
      });
      ++result->pairs;
      if (difference.low <= 0 && difference.high >= 0) continue;
      ++result->told_apart;
      result->ordered_alike += Sign(difference.value) == Sign(means[a] - means[b]);
    }
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

Estimate OverTrials(int trials, const std::function<double(const std::vector<int>&)>& statistic) {
  Random random(kSeed);
  std::vector<double> draws;
  draws.reserve(kDraws);
  for (int i = 0; i < kDraws; ++i) draws.push_back(statistic(Draw(trials, &random)));
  return {statistic(AllTrials(trials)), Quantile(draws, 0.025), Quantile(draws, 0.975), trials};
}

RankingAgreement CompareRankings(const CostTable& measured, const CostTable& simulated) {
  CHECK(!measured.empty() && measured.size() == simulated.size())
      << measured.size() << " and " << simulated.size() << " trials";
  const auto trials = static_cast<int>(measured.size());
  RankingAgreement result;
  result.tau = OverTrials(trials, [&](const std::vector<int>& drawn) {
    return KendallTau(Means(measured, drawn), Means(simulated, drawn));
  });
  result.winner = OverTrials(trials, [&](const std::vector<int>& drawn) {
    return MeanOver(drawn, [&](size_t trial) {
      return WinnerAgrees(measured[trial], simulated[trial]) ? 1.0 : 0.0;
    });
  });
  result.regret = OverTrials(trials, [&](const std::vector<int>& drawn) {
    return MeanOver(drawn, [&](size_t trial) { return Regret(measured[trial], simulated[trial]); });
  });
  result.measured_tau = AgainstItself(measured);
  CountPairs(measured, simulated, &result);
  return result;
}

}  // namespace cosched
