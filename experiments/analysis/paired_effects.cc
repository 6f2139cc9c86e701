#include "experiments/analysis/paired_effects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

constexpr double kEffectAlpha = 0.05;
constexpr double kWorthFinding = 0.05;  // The difference whose number of trials is told.
constexpr size_t kEffectWidth = 41;

bool AllEqual(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&values](double value) { return value == values.front(); });
}

double SampleDeviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::vector<double> Positive(const TrialValues& trials) {
  std::vector<double> values;
  for (const auto& [trial, value] : trials)
    if (value > 0) values.push_back(value);
  return values;
}

// The values of the trials that both have, above 0.
std::vector<std::pair<double, double>> PositivePairs(const TrialValues& values,
                                                     const TrialValues& base) {
  std::vector<std::pair<double, double>> common;
  for (const auto& [trial, value] : values) {
    const auto other = base.find(trial);
    if (other != base.end() && value > 0 && other->second > 0)
      common.emplace_back(value, other->second);
  }
  return common;
}

std::vector<double> Logarithms(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

// Two significant digits: "0.34", "8", "15", "120".
std::string PercentText(double share) {
  const double value = std::abs(share) * 100;
  if (value >= 0.95) return fmt::format("{:.{}f}", value, value < 9.95 ? 1 : 0);
  return value < 0.01 ? "less than 0.01" : fmt::format("{:.2g}", value);
}

// Shares of a ratio's interval, the smaller first: "8 to 15 %".
std::string RangeText(double a, double b) {
  const std::string low = PercentText(std::min(a, b)), high = PercentText(std::max(a, b));
  return low == high ? low + " %" : fmt::format("{} to {} %", low, high);
}

std::string DecidedText(const NamedEffect& effect, const std::string& base) {
  const Interval& interval = effect.effect.interval;
  if (interval.low > 2) {
    return fmt::format("{} is {:.2g} to {:.2g} times as long as {}", effect.subject, interval.low,
                       interval.high, base);
  }
  if (interval.low > 1) {
    return fmt::format("{} is {} longer than {}", effect.subject,
                       RangeText(interval.low - 1, interval.high - 1), base);
  }
  return fmt::format("{} is {} shorter than {}", effect.subject,
                     RangeText(1 - interval.high, 1 - interval.low), base);
}

int FewestTrials(double alpha) {
  int trials = 1;
  while (SmallestSignedRankP(trials) > alpha) ++trials;
  return trials;
}

// "5 trials can tell differences of 18 % and more; 5 % takes about 40". REQUIRES: all have as many
// pairs.
std::string PowerText(const std::vector<const NamedEffect*>& effects, size_t comparisons) {
  const double alpha = kEffectAlpha / static_cast<double>(comparisons);
  double least = effects.front()->effect.spread, most = least;
  const int pairs = effects.front()->effect.pairs;
  for (const NamedEffect* effect : effects) {
    least = std::min(least, effect->effect.spread);
    most = std::max(most, effect->effect.spread);
  }
  std::string cannot = fmt::format(
      "{} trial{} cannot decide {} comparison{}, at least {} are needed", pairs,
      pairs == 1 ? "" : "s", comparisons, comparisons == 1 ? "" : "s", FewestTrials(alpha));
  if (pairs < 2) return cannot;
  const int few = TrialsNeeded(least, kWorthFinding, alpha),
            many = TrialsNeeded(most, kWorthFinding, alpha);
  const std::string needed =
      few == many ? fmt::format("about {}", many) : fmt::format("about {} to {}", few, many);
  const auto smallest = DetectableDifference(least, pairs, alpha),
             largest = DetectableDifference(most, pairs, alpha);
  if (!smallest || !largest) {
    const bool shows = many <= FewestTrials(alpha);
    return fmt::format("{}{} would show {:.0f} %", cannot,
                       shows ? ", which" : "; " + needed + " trials", kWorthFinding * 100);
  }
  return fmt::format("{} trials can tell differences of {} and more; {:.0f} % takes {}", pairs,
                     RangeText(*smallest, *largest), kWorthFinding * 100, needed);
}

}  // namespace

std::vector<double> TrialRatios(const TrialValues& values, const TrialValues& base) {
  std::vector<double> ratios;
  for (const auto& [trial, value] : values) {
    const auto other = base.find(trial);
    if (other == base.end() || value < 0 || other->second < 0) continue;
    ratios.push_back(value == other->second ? 1 : value / other->second);
  }
  return ratios;
}

std::optional<TreatmentEffect> PairedTrials(const TrialValues& values, const TrialValues& base) {
  const auto pairs = PositivePairs(values, base);
  if (pairs.empty()) return std::nullopt;
  std::vector<double> ratios;
  for (const auto& [value, of_base] : pairs) ratios.push_back(value / of_base);
  const std::vector<double> logs = Logarithms(ratios);
  const SignedRank test = SignedRankTest(logs);
  TreatmentEffect effect;
  effect.paired = true;
  effect.pairs = static_cast<int>(ratios.size());
  effect.ratio = Median(ratios);
  effect.interval = MedianInterval(ratios);
  effect.p = test.p;
  effect.effect = test.effect;
  effect.wins = test.negative;
  effect.spread = SampleDeviation(logs);
  effect.least_p = SmallestSignedRankP(effect.pairs);
  const bool same = test.zero == effect.pairs;
  const bool repeated = std::all_of(pairs.begin(), pairs.end(),
                                    [&pairs](const auto& pair) { return pair == pairs.front(); });
  effect.tested = effect.pairs > 1 && !same && !repeated;
  return effect;
}

std::optional<TreatmentEffect> IndependentTrials(const TrialValues& values,
                                                 const TrialValues& base) {
  const std::vector<double> b = Positive(values), a = Positive(base);
  if (a.empty() || b.empty()) return std::nullopt;
  const RatioEstimate estimate = IndependentRatio(a, b);
  TreatmentEffect effect;
  effect.pairs = static_cast<int>(std::min(a.size(), b.size()));
  effect.ratio = estimate.ratio;
  effect.interval = estimate.interval;
  effect.p = MannWhitneyU(b, a).p;
  effect.effect = CliffsDelta(b, a);
  effect.spread = std::hypot(SampleDeviation(Logarithms(a)), SampleDeviation(Logarithms(b)));
  // The chance of one of all ways to choose b among the pooled values, and its mirror image.
  const double all = static_cast<double>(a.size() + b.size());
  effect.least_p = std::min(
      1.0, 2 * std::exp(std::lgamma(static_cast<double>(a.size()) + 1) +
                        std::lgamma(static_cast<double>(b.size()) + 1) - std::lgamma(all + 1)));
  effect.tested = effect.pairs > 1 && !(AllEqual(a) && AllEqual(b));
  return effect;
}

bool IsDecided(const TreatmentEffect& effect, double corrected) {
  const Interval& interval = effect.interval;
  return effect.tested && corrected < kEffectAlpha && (interval.low > 1 || interval.high < 1);
}

std::string LevelText(const Interval& interval, int values) {
  if (interval.level <= 0) return "";
  const std::string percent = LevelPercent(interval.level);
  return interval.range ? fmt::format("range of {}: {}", values, percent) : percent;
}

std::string LevelsText(const std::set<int>& counts) {
  std::vector<std::string> levels;
  for (const int count : counts) {
    const std::string level =
        LevelText(MedianInterval(std::vector<double>(static_cast<size_t>(count), 0)), count);
    if (level.empty()) continue;
    const bool says_count = counts.size() == 1 || level.starts_with("range");
    levels.push_back(says_count ? level : fmt::format("{} trials: {}", count, level));
  }
  return levels.empty() ? "" : fmt::format(" [{}]", fmt::join(levels, "; "));
}

std::string PText(double p) { return p < 0.001 ? "<0.001" : fmt::format("{:.3f}", p); }

std::string EffectText(const std::optional<TreatmentEffect>& effect, double corrected) {
  if (!effect) return fmt::format("{:<{}}", "-", kEffectWidth);
  const std::string ratio = fmt::format("{:.3f}", effect->ratio);
  if (!effect->tested)
    return fmt::format("{:<{}}", fmt::format("{:<20} {:>6}", ratio, "-"), kEffectWidth);
  return fmt::format(
      "{:<20} {:>6} {:>+6.2f} {:>6}",
      fmt::format("{} [{:.3f} {:.3f}]", ratio, effect->interval.low, effect->interval.high),
      PText(corrected), effect->effect,
      effect->paired ? fmt::format("{}/{}", effect->wins, effect->pairs) : "-");
}

std::string EffectTitle(const std::string& metric) {
  return fmt::format("{:<20} {:>6} {:>6} {:>6}", metric, "p", "effect", "wins");
}

std::vector<std::string> Verdicts(const std::vector<NamedEffect>& effects, const std::string& base,
                                  size_t comparisons) {
  std::vector<std::string> lines, same;
  std::map<int, std::vector<const NamedEffect*>, std::greater<>> undecided, decided;  // By pairs.
  for (const NamedEffect& effect : effects) {
    if (IsDecided(effect.effect, effect.corrected)) {
      lines.push_back(DecidedText(effect, base));
      decided[effect.effect.pairs].push_back(&effect);
    } else if (effect.effect.tested || effect.effect.pairs == 1) {
      undecided[effect.effect.pairs].push_back(&effect);
    } else if (effect.effect.ratio == 1) {
      same.push_back(effect.name);
    } else {
      lines.push_back(
          fmt::format("{} took {:.3f} times as long as {} in this one case: its trials "
                      "are copies, nothing can be tested",
                      effect.subject, effect.effect.ratio, base));
    }
  }
  if (!same.empty())
    lines.push_back(fmt::format("the same as {}: {}", base, fmt::join(same, ", ")));
  // The others' line says it where there is one.
  for (const auto& [pairs, alike] : decided)
    if (undecided.empty()) lines.push_back(PowerText(alike, comparisons));
  for (const auto& [pairs, alike] : undecided) {
    std::vector<std::string> names;
    for (const NamedEffect* effect : alike) {
      const bool divided = effect->effect.tested && effect->corrected < kEffectAlpha;
      names.push_back(effect->name + (divided ? " (p below 0.05, but its interval holds 1)" : ""));
    }
    lines.push_back(
        fmt::format("not decided: {}: {}", fmt::join(names, ", "), PowerText(alike, comparisons)));
  }
  return lines;
}

}  // namespace cosched
