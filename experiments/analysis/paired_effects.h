#pragma once
// How one treatment (a policy in an elasticity, of one run or another) compares with another: the
// ratios of what both did with the same arrivals, trial by trial, their median with its interval,
// and a test, corrected for how many there are. Pure; used by the comparison's tables.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/statistics.h"

namespace cosched {

// A value a trial, by whatever tells that two trials had the same arrivals.
using TrialValues = std::map<std::pair<int, int>, double>;

// value / base of the trials that have both, none below 0. Where the base is 0 the ratio is without
// bound, and 1 if the value is 0 too: left out, such trials would make the base look worse than it is.
std::vector<double> TrialRatios(const TrialValues& values, const TrialValues& base);

struct TreatmentEffect {
  bool paired = false;
  int pairs = 0;        // Trials that both have; the smaller sample where nothing pairs them.
  double ratio = 1;     // Median of value / base.
  Interval interval;    // The ratio's interval.
  double p = 1;         // As tested; see Corrected.
  double effect = 0;    // Effect size of the signed ranks, or Cliff's delta: -1 = always below 1.
  int wins = 0;         // Trials whose ratio is below 1, of pairs.
  double spread = 0;    // Standard deviation of the log ratios.
  double least_p = 1;   // What so many trials can show at most.
  bool tested = false;  // False: one pair only, or no trial says more than the first (copies).
};
// nullopt if no trial has both. Values that are not above 0 have no ratio and are left out.
std::optional<TreatmentEffect> PairedTrials(const TrialValues& values, const TrialValues& base);
// The same where nothing pairs the trials.
std::optional<TreatmentEffect> IndependentTrials(const TrialValues& values,
                                                 const TrialValues& base);

// Whether it is told from 1 at 5 %: by its p, corrected for its family, and by its interval.
bool IsDecided(const TreatmentEffect& effect, double corrected);

// "range of 3: 75 %", "96.1 %": what an interval of so many values holds the median with; "" if
// there is none.
std::string LevelText(const Interval& interval, int values);
// " [range of 3: 75 %; 12 trials: 96.1 %]": of the intervals of medians of so many values each.
std::string LevelsText(const std::set<int>& counts);
std::string PText(double p);  // "0.031", "<0.001".
// "0.914 [0.902 0.988]  0.031  -1.00   5/5": ratio, interval, corrected p, effect and wins, as wide
// as EffectTitle; "-" where nothing was tested.
std::string EffectText(const std::optional<TreatmentEffect>& effect, double corrected);
std::string EffectTitle(const std::string& metric);

struct NamedEffect {
  std::string name;     // In a list.
  std::string subject;  // A sentence's subject: "equal-share" (is 8 to 15 % shorter than strict).
  TreatmentEffect effect;
  double corrected = 1;  // The effect's p, corrected for the family.
};
// What of effects is decided at 5 %, one line each, and in one line all others over as many trials,
// with what would decide them; where all are decided, what such trials can show. comparisons: how
// many the correction is for.
std::vector<std::string> Verdicts(const std::vector<NamedEffect>& effects, const std::string& base,
                                  size_t comparisons);

}  // namespace cosched
