#pragma once
// Do two rankings of the same policies agree, and what does it cost to trust the wrong one? Used by
// `cosched validate`, with the simulator's values beside the hardware's. Values are costs
// (makespan, turnaround): lower is better. Pure; equal input gives equal output, the bootstrap
// included.

#include <functional>
#include <vector>

#include "workloads/profile.h"

namespace cosched {

// Kendall's tau-b, from -1 to 1; ties count for neither order (Kendall, Biometrika 33(3), 1945). 1
// if fewer than two policies, 0 if one side ranks nothing. REQUIRES: equal sizes.
double KendallTau(const std::vector<double>& a, const std::vector<double>& b);

// Whether the best by b is among the best by a. REQUIRES: equal sizes, at least one.
bool WinnerAgrees(const std::vector<double>& a, const std::vector<double>& b);

// What choosing by `chosen` costs: real cost of its choice over the lowest real cost, less 1. 0 =
// nothing. Of several that `chosen` holds for best, the worst. REQUIRES: as above; costs above 0.
double Regret(const std::vector<double>& real, const std::vector<double>& chosen);

// Cost by trial and policy; a trial is one draw of arrivals, the same for all policies.
using CostTable = std::vector<std::vector<double>>;

// Each with its 95 % interval over trials (percentile bootstrap; trials are drawn whole, so that
// policies stay paired).
struct RankingAgreement {
  Estimate tau;           // Of the policies' means over trials.
  Estimate winner;        // Share of trials in which the winner agrees.
  Estimate regret;        // Mean over trials.
  Estimate measured_tau;  // The measured ranking against itself on other draws of trials.
  // Pairs of policies whose measured difference has an interval without 0, of all pairs; and those
  // of them that the simulator orders alike.
  int pairs = 0;
  int told_apart = 0;
  int ordered_alike = 0;

  // The measured values do not rank the policies any better than this tau.
  bool MeasuredCannotTell(double min_tau) const { return measured_tau.value < min_tau; }
};

// REQUIRES: at least one trial; every trial has all policies, in both.
RankingAgreement CompareRankings(const CostTable& measured, const CostTable& simulated);

// The statistic of all trials, with its interval over draws of trials (indices, with repeats).
Estimate OverTrials(int trials, const std::function<double(const std::vector<int>&)>& statistic);

}  // namespace cosched
