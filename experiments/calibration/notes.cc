#include "experiments/calibration/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/analysis/estimate.h"
#include "experiments/analysis/predicted_steps.h"
#include "experiments/analysis/statistics.h"
#include "experiments/calibration/slow_downs.h"

namespace cosched {
namespace {

using MeasurementKind = Measurement::Kind;

constexpr size_t kParts = 3;  // Parts of the calibration's time, for its drift.

CpuSet NumberedCores(int count) {
  CpuSet cores;
  for (int core = 0; core < count; ++core) cores.Add(core);
  return cores;
}

// As no-control puts them.
std::vector<PlacedTenant> Placed(const Measurement& measurement, const Profile& profile) {
  std::vector<PlacedTenant> tenants;
  for (size_t i = 0; i < measurement.programs.size(); ++i) {
    const int count = measurement.CoresOf(i);
    CpuSet cores = NumberedCores(count);
    if (count == 1 && measurement.kind == MeasurementKind::kShared)
      cores = CpuSet::Range(static_cast<int>(i) % measurement.shared_cores,
                            static_cast<int>(i) % measurement.shared_cores);
    tenants.push_back({.program = profile.programs[measurement.programs[i]].program,
                       .cores = cores,
                       .threads = measurement.ThreadsOfTenant(i)});
  }
  return tenants;
}

// Errors of predicted slow-downs on shared cores.
std::vector<double> CrowdingErrors(const std::vector<Series>& all, const Profile& profile,
                                   bool fitted) {
  std::vector<double> errors;
  for (const Series& series : all) {
    const Measurement& measurement = series.measurement;
    if (!measurement.IsOnSharedCores() || measurement.IsFitted() != fitted) continue;
    const std::vector<PlacedTenant> tenants = Placed(measurement, profile);
    const std::vector<double> steps = PredictSteps(profile, tenants);
    for (size_t i = 0; i < tenants.size(); ++i) {
      const double alone = PredictSteps(profile, {tenants[i]}).front();
      const double measured = PairedSlowDown(series, i, AloneOf(all, measurement, i)).value;
      errors.push_back(std::abs(steps[i] / alone / measured - 1));
    }
  }
  return errors;
}

void AddCrowdingNote(const char* what, const std::vector<double>& errors, Profile* profile) {
  if (errors.empty()) return;
  profile->notes.push_back(
      fmt::format("shared cores, {}: error of the slow-down over {} tenants: mean {:.1f} %, worst "
                  "{:.1f} %",
                  what, errors.size(), Mean(errors) * 100, Quantile(errors, 1) * 100));
}

// Half of the widest of some intervals; of estimates one of which has none, it is not known.
class Widest {
 public:
  void Add(const Estimate& estimate) {
    known_ &= estimate.samples > 1;
    share_ = std::max(share_, (estimate.high - estimate.low) / 2 / std::max(1e-12, estimate.value));
  }
  std::string Text() const {
    return known_ ? fmt::format("±{:.1f} %", share_ * 100) : "unknown (of one run)";
  }

 private:
  double share_ = 0;
  bool known_ = true;
};

// The widest that a prediction for this program may rest on.
void AddOpenNote(const ProgramProfile& program, Profile* profile) {
  Widest alone, beside, shared;
  for (const SpeedPoint& point : program.alone) {
    if (point.threads == DefaultSplit(point.cores)) alone.Add(point.step_s);
  }
  for (const CoRun& run : profile->co_runs) {
    if (run.shared_cores > 0) continue;
    for (const CoRun::Tenant& tenant : run.tenants) {
      if (tenant.program == program.program) beside.Add(tenant.slowdown);
    }
  }
  for (const CrowdingPoint& point : program.crowding) shared.Add(point.loss);
  profile->notes.push_back(fmt::format(
      "what intervals leave open in a predicted step of {}: alone up to {}; beside others on cores "
      "of its own {} more, on shared ones {} more",
      program.program, alone.Text(), beside.Text(), shared.Text()));
}

// Runs over the median of their series, in each part of the calibration's time.
std::vector<std::vector<double>> SpeedsByPart(const std::vector<Series>& all) {
  double first = INFINITY, last = -INFINITY;
  for (const Series& series : all) {
    for (const Measured& run : series.runs) {
      first = std::min(first, run.at);
      last = std::max(last, run.at);
    }
  }
  std::vector<std::vector<double>> parts(kParts);
  for (const Series& series : all) {
    const bool is_moved = series.measurement.kind == MeasurementKind::kResize ||
                          series.measurement.kind == MeasurementKind::kMoves;
    if (is_moved || series.runs.size() < kParts) continue;
    const double median = StepTime(series, 0).value;
    for (const Measured& run : series.runs) {
      const double place = (run.at - first) / std::max(1e-9, last - first);
      const auto part = std::min(kParts - 1, static_cast<size_t>(place * kParts));
      parts[part].push_back(run.tenants[0].step_s / median);
    }
  }
  return parts;
}

void AddDriftNote(const std::vector<Series>& all, Profile* profile) {
  std::string text;
  for (const std::vector<double>& part : SpeedsByPart(all)) {
    if (part.empty()) return;
    text += fmt::format("{}{:.3f}", text.empty() ? "" : ", ", Median(part));
  }
  profile->notes.push_back("drift: in the three thirds of the calibration's time runs took " +
                           text + " times what the medians of their kinds are");
}

}  // namespace

void AddCalibrationNotes(const std::vector<Series>& all, Profile* profile) {
  AddCrowdingNote("tenants alike and pairs of unequal threads (fitted)",
                  CrowdingErrors(all, *profile, true), profile);
  AddCrowdingNote("two programs, each twice (not fitted)", CrowdingErrors(all, *profile, false),
                  profile);
  for (const ProgramProfile& program : profile->programs) AddOpenNote(program, profile);
  AddDriftNote(all, profile);
}

}  // namespace cosched
