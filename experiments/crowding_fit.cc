#include "experiments/crowding_fit.h"

#include <algorithm>
#include <map>

#include "experiments/estimate.h"
#include "experiments/hosts/simulation/speed_model.h"
#include "experiments/slow_downs.h"
#include "experiments/statistics.h"

namespace cosched {
namespace {

using Kind = Measurement::Kind;

// Beyond these a fit says nothing of the program.
constexpr double kLeastLoss = 0.05, kLeastWeight = 0.02, kMostWeight = 20;

double StepAlone(const Series& alone) { return StepTime(alone, 0).value; }

// What `of` makes of a value and of the ends of its interval.
template <typename Function>
Estimate Mapped(const Estimate& estimate, Function of) {
  return {of(estimate.value), of(estimate.low), of(estimate.high), estimate.samples};
}

void AddAlike(const std::vector<Series>& all, const Series& series, Profile* profile) {
  const Measurement& measurement = series.measurement;
  ProgramProfile& program = profile->programs[measurement.programs[0]];
  const Series& alone = AloneOf(all, measurement, 0);
  const SpeedModel model(program);
  const auto tenants = static_cast<double>(measurement.programs.size());
  const double share = measurement.shared_cores / tenants;
  const double own = model.Step(measurement.threads, share, 1, true).seconds;
  const double pressed = program.sensitivity * program.pressure * (tenants - 1) *
                         model.Step({1, 1}, 1, 1, true).seconds;
  const double step = StepAlone(alone);
  program.crowding.push_back(
      {.threads = ThreadsOf(measurement.threads),
       .others = tenants * measurement.cores / measurement.shared_cores - 1,
       .loss = Mapped(PairedSlowDownOfAll(series, alone), [&](double slow_down) {
         return std::max(kLeastLoss, (slow_down * step - pressed) / own);
       })});
}

// A pair of unequal threads, as it was measured.
struct Mixed {
  const Measurement* measurement;
  const ProgramProfile* second;
  Estimate slow_downs[2];
  double alone[2];  // Step times, seconds.
  // What steps would take beside each other if only cores were shared.
  double undisturbed[2];
};

double OneCoreStep(const ProgramProfile& program) {
  return SpeedModel(program).Alone({1, 1}, 1).seconds;
}

// Each presses on the other at its undisturbed rate, so that both follow from both.
void TakeOutContention(const ProgramProfile& first, Mixed* mixed) {
  constexpr int kRounds = 50;  // It halves the error many times over in each.
  const ProgramProfile* programs[] = {&first, mixed->second};
  double measured[2];
  for (const size_t i : {0, 1})
    measured[i] = mixed->undisturbed[i] = mixed->slow_downs[i].value * mixed->alone[i];
  for (int round = 0; round < kRounds; ++round) {
    for (const size_t i : {0, 1}) {
      const ProgramProfile& other = *programs[1 - i];
      const double rate = OneCoreStep(other) / mixed->undisturbed[1 - i];
      mixed->undisturbed[i] = measured[i] / (1 + programs[i]->sensitivity * other.pressure * rate);
    }
  }
}

// The weight with which the first's threads leave the second what it was measured to have.
double Weight(const Mixed& mixed) {
  const SpeedModel second(*mixed.second);
  const double one_core = OneCoreStep(*mixed.second);
  const double own = second.KnowsCrowding() ? second.Shared({1, 1}, 1, 1, 1).seconds : one_core;
  return std::clamp(mixed.undisturbed[1] / own - 1, kLeastWeight, kMostWeight);
}

Estimate LossOfFirst(const Mixed& mixed, const ProgramProfile& first, double weight) {
  const double cores = mixed.measurement->cores - 1 + weight / (1 + weight);
  const double own = SpeedModel(first).Step(mixed.measurement->threads, cores, 1, true).seconds;
  const double of_slow_down = mixed.undisturbed[0] / mixed.slow_downs[0].value / own;
  return Mapped(mixed.slow_downs[0], [of_slow_down](double slow_down) {
    return std::max(kLeastLoss, slow_down * of_slow_down);
  });
}

std::vector<Mixed> MixedOf(const std::vector<Series>& all, size_t program, const Profile& profile) {
  std::vector<Mixed> mixed;
  for (const Series& series : all) {
    if (series.measurement.kind != Kind::kMixed || series.measurement.programs[0] != program)
      continue;
    Mixed one{.measurement = &series.measurement,
              .second = &profile.programs[series.measurement.programs[1]],
              .slow_downs = {},
              .alone = {},
              .undisturbed = {}};
    for (const size_t tenant : {0, 1}) {
      const Series& alone = AloneOf(all, series.measurement, tenant);
      one.slow_downs[tenant] = PairedSlowDown(series, tenant, alone);
      one.alone[tenant] = StepAlone(alone);
    }
    TakeOutContention(profile.programs[program], &one);
    mixed.push_back(one);
  }
  return mixed;
}

// The middle one of each, where there are several others.
void FitMixed(size_t index, const std::vector<Mixed>& mixed, Profile* profile) {
  ProgramProfile& program = profile->programs[index];
  std::vector<double> weights, values, lows, highs;
  for (const Mixed& one : mixed) weights.push_back(Weight(one));
  program.weight = Median(weights);
  int samples = 0;
  for (const Mixed& one : mixed) {
    const Estimate loss = LossOfFirst(one, program, program.weight);
    values.push_back(loss.value);
    lows.push_back(loss.low);
    highs.push_back(loss.high);
    samples = std::max(samples, loss.samples);
  }
  const Measurement& measurement = *mixed.front().measurement;
  program.crowding.push_back({.threads = ThreadsOf(measurement.threads),
                              .others = 1.0 / measurement.cores,
                              .loss = {Median(values), *std::ranges::min_element(lows),
                                       *std::ranges::max_element(highs), samples}});
}

}  // namespace

void FitCrowding(const std::vector<Series>& all, Profile* profile) {
  for (const Series& series : all) {
    if (series.measurement.kind == Kind::kShared && series.measurement.IsFitted())
      AddAlike(all, series, profile);
  }
  for (size_t i = 0; i < profile->programs.size(); ++i) {
    const std::vector<Mixed> mixed = MixedOf(all, i, *profile);
    if (!mixed.empty()) FitMixed(i, mixed, profile);
  }
  for (ProgramProfile& program : profile->programs) {
    std::ranges::sort(program.crowding, [](const CrowdingPoint& a, const CrowdingPoint& b) {
      return std::pair(a.threads, a.others) < std::pair(b.threads, b.others);
    });
  }
}

}  // namespace cosched
