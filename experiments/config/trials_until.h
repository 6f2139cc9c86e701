#pragma once
// `trials = "until makespan ± 2 %"`: trials are added until an interval is narrow enough, at
// planned numbers of them, the looks. An interval that is looked at again and again holds the truth
// less often than it says, so each of `n` looks is worth a level of 1 - 0.05 / n (Bonferroni): all
// of them together hold it with 95 %, whatever the values' distribution and wherever one stops.
// Pure; used by the experiment file's reader and by whoever runs trials or judges them.

#include <optional>
#include <string>
#include <vector>

namespace cosched {

struct TrialsUntil {
  std::string metric;  // As written: a column of summary.csv or services.csv, or one without "_s".
  double within = 0;   // The share of the estimate by which its interval may reach beyond it.
};

// "until METRIC ± P %", also with +- or +/- for ±; nullopt if it is nothing like that, or P is not
// above 0 and below 100.
std::optional<TrialsUntil> ParseTrialsUntil(const std::string& text);
std::string ToString(const TrialsUntil& until);  // "until makespan ± 2 %"

inline constexpr int kFewestSequentialTrials = 6;  // With fewer no interval of a median has 95 %.
inline constexpr int kUsualMostTrials = 40;

// After how many trials to look, at most `most`, which is the last: each about half as many again
// as the one before, from the fewest at which an interval can have the level of a look. REQUIRES:
// most >= kFewestSequentialTrials.
std::vector<int> TrialLooks(int most);
// That the interval of one of so many looks has to have: 0.99 of five.
double LevelOfLook(size_t looks);

}  // namespace cosched
