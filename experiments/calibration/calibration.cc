#include "experiments/calibration/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/random.h"
#include "experiments/analysis/estimate.h"
#include "experiments/analysis/statistics.h"
#include "experiments/calibration/fit.h"
#include "experiments/calibration/slow_downs.h"

namespace cosched {
namespace {

using MeasurementKind = Measurement::Kind;

constexpr int kMinRuns = kTrialsThatDecide;  // Fewer have no interval of 95 %.
constexpr int kMostFailures = 3;             // Failures of one measurement in a row.
constexpr int64_t kPilotSteps = 8;
constexpr int64_t kFewestSteps = 5;  // That count.
constexpr int64_t kMostSteps = 100'000;
constexpr int64_t kFewestShared = 3;  // That count of each tenant on shared cores: they are slow.
constexpr int64_t kFirstSteps = 4;    // As long as a start and its warm-up steps take, in steps.
// For a useful number of resizes, also where steps turn out to be shorter than was thought.
constexpr double kResizeSeconds = 3.0;
// What a slow-down's interval counts for, of what a curve's does: jobs run that way some of the
// time, under some policies. The same for splits and numbers of threads that few ask for.
constexpr double kSometimes = 0.5;

// What is moved all the while: it has a distribution, which has no interval.
bool IsMoved(const Measurement& measurement) {
  return measurement.kind == MeasurementKind::kResize ||
         measurement.kind == MeasurementKind::kMoves;
}

class Calibration {
 public:
  Calibration(const std::vector<TenantSpec>& programs, int cores, const CalibrationOptions& options)
      : programs_(programs), options_(options), random_(Random(options.seed).Derive("calibrate")) {
    for (const Measurement& measurement :
         PlanCalibration(programs.size(), cores, options.threads_per_core, options.numa_nodes))
      series_.push_back({measurement, {}, 0});
  }

  // False: interrupted.
  bool Run() {
    begin_ = options_.now();
    if (!RunPilots()) return false;
    for (bool first = true;; first = false) {
      std::vector<Series*> open = Open();
      if (open.empty()) return true;
      Shuffle(&open);
      for (Series* series : open) {
        if (!first && Elapsed() >= options_.seconds) return true;
        if (!MeasureOnce(series)) return false;
      }
    }
  }

  const std::vector<Series>& series() const { return series_; }
  int runs() const { return runs_; }
  int NotTight() { return static_cast<int>(Open().size()); }

 private:
  double Elapsed() const { return options_.now() - begin_; }

  // Once more if a tenant fails: over a whole calibration one may, on a busy machine. For longer,
  // if the tenants were too short to meet.
  Measured Try(const Measurement& measurement, std::vector<int64_t> steps) const {
    for (int failures = 0;; ++failures) {
      try {
        return options_.measure(measurement, steps);
      } catch (const MeasurementFailed& failed) {
        if (failed.hopeless() || failures >= kMostFailures) {
          throw MeasurementFailed(
              fmt::format("{}: {}", Describe(measurement, programs_), failed.what()));
        }
        for (int64_t& count : steps) count *= 2;
      }
    }
  }

  // A first guess at how long a step takes, so that the steps of a measurement fill its time.
  bool RunPilots() {
    for (size_t program = 0; program < programs_.size(); ++program) {
      const Measured measured = Try(
          {.kind = MeasurementKind::kAlone, .programs = {program}, .cores = 1, .threads = {1, 1}},
          {kWarmUpSteps + kPilotSteps});
      if (measured.interrupted) return false;
      step_s_.push_back(measured.tenants[0].step_s);
    }
    return true;
  }

  std::vector<int64_t> Steps(const Measurement& measurement) const {
    std::vector<int64_t> steps;
    // A resized tenant has all cores half of the time.
    double seconds = IsMoved(measurement) ? kResizeSeconds : options_.measure_s;
    const bool crowded = measurement.kind == MeasurementKind::kShared;
    if (crowded)
      seconds *= measurement.shared_cores / static_cast<double>(measurement.programs.size());
    // All compute until the slowest has been through its first steps and some more.
    double slowest = 0;
    for (const size_t program : measurement.programs) slowest = std::max(slowest, step_s_[program]);
    for (const size_t program : measurement.programs) {
      const double step_s = step_s_[program];
      const double more = (slowest - step_s) * static_cast<double>(kFirstSteps);
      const auto count = static_cast<int64_t>(std::ceil((seconds + more) / step_s));
      steps.push_back(kWarmUpSteps +
                      std::clamp(count, crowded ? kFewestShared : kFewestSteps, kMostSteps));
    }
    return steps;
  }

  bool IsTight(const Series& series) const {
    if (static_cast<int>(series.runs.size()) < kMinRuns) return false;
    if (IsMoved(series.measurement)) return true;
    return Cost(series) <= options_.interval;
  }

  // What the interval costs in predicted error.
  double Cost(const Series& series) const {
    const Measurement& measurement = series.measurement;
    const bool is_curve = measurement.kind == MeasurementKind::kAlone &&
                          measurement.threads == DefaultSplit(measurement.cores);
    return Width(series) * (is_curve ? 1 : kSometimes);
  }

  // Half of the widest interval among the tenants, relative: of a step alone, of the slow-down
  // beside others, which is what the profile holds.
  double Width(const Series& series) const {
    double widest = 0;
    for (size_t tenant = 0; tenant < series.measurement.programs.size(); ++tenant) {
      const Estimate estimate = EstimateOf(series, tenant);
      widest = std::max(widest, (estimate.high - estimate.low) / 2 / estimate.value);
    }
    return widest;
  }

  Estimate EstimateOf(const Series& series, size_t tenant) const {
    const Measurement& measurement = series.measurement;
    const bool is_far = measurement.kind == MeasurementKind::kFar;
    if (measurement.programs.size() == 1 && !is_far) return StepTime(series, tenant);
    const Series& alone = AloneOf(series_, measurement, tenant);
    if (alone.runs.empty()) return StepTime(series, tenant);
    if (measurement.kind == MeasurementKind::kShared && measurement.IsOfOneProgram())
      return PairedSlowDownOfAll(series, alone);
    return PairedSlowDown(series, tenant, alone);
  }

  std::vector<Series*> Open() {
    std::vector<Series*> open;
    for (Series& series : series_) {
      if (!IsTight(series)) open.push_back(&series);
    }
    return open;
  }

  void Shuffle(std::vector<Series*>* open) {
    for (size_t i = open->size(); i > 1; --i) std::swap((*open)[i - 1], (*open)[random_.Below(i)]);
  }

  bool MeasureOnce(Series* series) {
    const double begin = options_.now();
    Measured measured = Try(series->measurement, Steps(series->measurement));
    if (measured.interrupted) return false;
    ++runs_;
    measured.at = begin;
    series->seconds += options_.now() - begin;
    series->runs.push_back(std::move(measured));
    const auto open = static_cast<int>(Open().size());
    options_.progress({.what = Describe(series->measurement, programs_),
                       .result = ResultText(*series),
                       .tight = static_cast<int>(series_.size()) - open,
                       .measurements = static_cast<int>(series_.size()),
                       .left_s = SecondsLeft()});
    return true;
  }

  std::string ResultText(const Series& series) const {
    if (IsMoved(series.measurement)) return fmt::format("run {}", series.runs.size());
    std::string text;
    for (size_t tenant = 0; tenant < series.measurement.programs.size(); ++tenant)
      text +=
          fmt::format("{}{:.2f}", tenant == 0 ? "" : " | ", StepTime(series, tenant).value * 1e3);
    if (series.runs.size() == 1) return text + " ms in 1 run";
    return text + fmt::format(" ms ±{:.1f} % (level {}) in {} runs", Width(series) * 100,
                              LevelText(static_cast<int>(series.runs.size())), series.runs.size());
  }

  // Runs that a series still needs if its interval shrinks with the square root of their number.
  int RunsLeft(const Series& series) const {
    const auto runs = static_cast<int>(series.runs.size());
    if (IsTight(series)) return 0;
    if (runs < kMinRuns) return kMinRuns - runs;
    const double factor = std::pow(Cost(series) / options_.interval, 2);
    return std::max(1, static_cast<int>(std::ceil(runs * (factor - 1))));
  }

  double SecondsLeft() const {
    double sum = 0, first_runs = 0, measured = 0;
    for (const Series& series : series_) measured += series.seconds;
    const double mean = measured / std::max(1, runs_);
    for (const Series& series : series_) {
      const auto runs = static_cast<double>(series.runs.size());
      sum += RunsLeft(series) * (runs > 0 ? series.seconds / runs : mean);
      if (runs == 0) first_runs += mean;
    }
    // Each is made once, however long that takes.
    return std::max(first_runs, std::min(sum, options_.seconds - Elapsed()));
  }

  const std::vector<TenantSpec>& programs_;
  const CalibrationOptions& options_;
  Random random_;
  std::vector<Series> series_;
  std::vector<double> step_s_;  // By program, a first guess.
  double begin_ = 0;
  int runs_ = 0;
};

}  // namespace

std::optional<CalibrationResult> Calibrate(const std::vector<TenantSpec>& programs, int cores,
                                           const CalibrationOptions& options) {
  Calibration calibration(programs, cores, options);
  if (!calibration.Run()) return std::nullopt;
  return CalibrationResult{.profile = FitProfile(calibration.series(), programs, cores),
                           .runs = calibration.runs(),
                           .not_tight = calibration.NotTight(),
                           .measurements = static_cast<int>(calibration.series().size())};
}

}  // namespace cosched
