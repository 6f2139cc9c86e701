#include "experiments/calibration/crowding_fit.h"

#include <algorithm>
#include <map>

#include "experiments/analysis/estimate.h"
#include "experiments/analysis/statistics.h"
#include "experiments/calibration/slow_downs.h"
#include "experiments/hosts/simulation/speed_model.h"

namespace cosched {
namespace {

using MeasurementKind = Measurement::Kind;

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
  const double rate = measurement.shared_cores / (tenants * measurement.cores);
  const double pressed =
      program.sensitivity * program.pressure * (tenants - 1) * model.Alone({1, 1}, 1).seconds;
  const double step = StepAlone(alone);
  program.crowding.push_back(
      {.threads = ThreadsOf(measurement.threads),
       .others = tenants * measurement.cores / measurement.shared_cores - 1,
       .loss = Mapped(PairedSlowDownOfAll(series, alone), [&](double slow_down) {
         return std::max(kLeastLoss, (slow_down * step - pressed) * rate / step);
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
  constexpr int kRounds = 50;  // Each round halves the error many times over.
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

double Weight(const Mixed& mixed, const ProgramProfile& first) {
  const Measurement& measurement = *mixed.measurement;
  const SpeedModel model(first);
  // If it ran all of the time.
  const double whole = model.KnowsCrowding()
                           ? model.Shared(measurement.threads, measurement.cores, 1, 1).seconds
                           : mixed.alone[0];
  const double longer = mixed.undisturbed[0] / whole;
  return longer > 1 ? std::clamp(1 / (longer - 1), kLeastWeight, kMostWeight) : kMostWeight;
}

std::vector<Mixed> MixedOf(const std::vector<Series>& all, size_t program, const Profile& profile) {
  std::vector<Mixed> mixed;
  for (const Series& series : all) {
    if (series.measurement.kind != MeasurementKind::kMixed ||
        series.measurement.programs[0] != program)
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

}  // namespace

void FitCrowding(const std::vector<Series>& all, Profile* profile) {
  for (const Series& series : all) {
    if (series.measurement.kind == MeasurementKind::kShared && series.measurement.IsFitted())
      AddAlike(all, series, profile);
  }
  std::vector<double> weights;
  for (size_t i = 0; i < profile->programs.size(); ++i) {
    for (const Mixed& mixed : MixedOf(all, i, *profile))
      weights.push_back(Weight(mixed, profile->programs[i]));
  }
  for (ProgramProfile& program : profile->programs) {
    if (!weights.empty()) program.weight = Median(weights);
    std::ranges::sort(program.crowding, [](const CrowdingPoint& a, const CrowdingPoint& b) {
      return std::pair(a.threads, a.others) < std::pair(b.threads, b.others);
    });
  }
}

}  // namespace cosched
