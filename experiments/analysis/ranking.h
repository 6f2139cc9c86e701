#pragma once
// Do two rankings of the same policies agree, and what does it cost to trust the wrong one? Used by
// `cosched validate`, with the simulator's values beside the hardware's. Values are costs
// (makespan, turnaround): lower is better. Pure; equal input gives equal output.

#include <optional>
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

// A trace is ranked as a whole, so that policies stay paired and traces are what was drawn.
struct RankingAgreement {
  Estimate tau;             // Rank agreement of the policies in one trace.
  double tau_of_means = 0;  // The same of the policies' means over all traces.
  int winner_agrees = 0;    // Traces in which it does.
  Estimate regret;          // In one trace.
  double mean_regret = 0;
  // The same against those policies only that the hardware tells apart from the choice (below):
  // what the simulator is to blame for, mean over the traces. Where the best and the choice are not
  // told apart, noise decides between them, and no answer can be had.
  double told_regret = 0;
  int no_answer = 0;  // Such traces.
  // The measured ranking against itself: tau of the means over one half of the traces and over the
  // other, the median over ways to halve them. Empty for one trace.
  std::optional<double> measured_tau;
  // Pairs of policies whose measured ratio has an interval without 1 and of a level that decides,
  // of all pairs; and those of them that the simulator orders alike. Each pair is judged at its own
  // level: a share of 1 - level of equal ones would be told apart by chance.
  int pairs = 0;
  int told_apart = 0;
  int ordered_alike = 0;

  // The measured values do not rank the policies any better than this tau.
  bool MeasuredCannotTell(double min_tau) const { return measured_tau && *measured_tau < min_tau; }
};

// REQUIRES: at least one trial; every trial has all policies, in both; costs above 0.
RankingAgreement CompareRankings(const CostTable& measured, const CostTable& simulated);

}  // namespace cosched
