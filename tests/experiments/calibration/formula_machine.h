#pragma once
// Two programs on a machine that is a formula, with a clock of its own: for tests of a calibration, which
// need no machine and take no time.

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "experiments/calibration/calibration.h"

namespace cosched {

inline TenantSpec ProgramOf(const char* model) {
  TenantSpec spec;
  spec.model = model;
  return spec;
}

// Two programs: Amdahl, contention, a penalty for more threads than cores, crowding on shared
// cores, and a machine that drifts, all known.
class FormulaMachine {
 public:
  explicit FormulaMachine(double noise) : noise_(noise), random_(7) {}

  CalibrationOptions Options() {
    CalibrationOptions options;
    options.now = [this] { return now_; };
    options.measure = [this](const Measurement& measurement, const std::vector<int64_t>& steps) {
      return Measure(measurement, steps);
    };
    options.progress = [this](const CalibrationProgress& progress) { told_.push_back(progress); };
    return options;
  }

  static double Alone(size_t program, int cores, int threads) {
    const double base = program == 0 ? 0.1 : 0.01;
    const double k = std::min(cores, threads);
    return base * (0.1 + 0.9 / k) * (threads > cores ? 1 + 0.1 * threads / cores : 1);
  }

  Measured Measure(const Measurement& measurement, const std::vector<int64_t>& steps) {
    measured_.push_back(measurement);
    if (interrupt_after_ == static_cast<int>(measured_.size())) return Interrupted();
    Measured measured;
    double longest = 0;
    for (size_t i = 0; i < measurement.programs.size(); ++i) {
      const size_t program = measurement.programs[i];
      double step = Undisturbed(measurement, i);
      if (measurement.programs.size() > 1) {
        double press = 0;
        for (size_t j = 0; j < measurement.programs.size(); ++j) {
          const size_t other = measurement.programs[j];
          if (j != i) press += kPressure[other] * Alone(other, 1, 1) / Undisturbed(measurement, j);
        }
        step *= 1 + kSensitivity[program] * press;
      }
      step *= (1 + noise_ * random_.Normal(0, 1)) * (1 + drift_ * now_);
      measured.tenants.push_back(
          {.step_s = step, .warm_up_s = 2 * step + 3 * step, .start_s = 0.3, .stop_s = 0.05});
      longest = std::max(longest, step * static_cast<double>(steps[i]));
    }
    if (measurement.kind == Measurement::Kind::kResize)
      measured.resizes = {{1e-5, 3e-5}, {2e-4}, {}, {}};
    if (measurement.kind == Measurement::Kind::kMoves) {
      const double bytes = kMemory[measurement.programs[0]];
      measured.memory_moves = {{bytes, bytes / kMoveRate}, {bytes * 1.02, bytes / kMoveRate}};
    }
    measured.decision = {2e-5};
    now_ += longest;
    return measured;
  }

  // Step time of a tenant, but for what it shares beside cores.
  static double Undisturbed(const Measurement& measurement, size_t tenant) {
    const size_t program = measurement.programs[tenant];
    const int cores = measurement.CoresOf(tenant);
    const int threads = ThreadsOf(measurement.ThreadsOfTenant(tenant));
    if (measurement.kind == Measurement::Kind::kFar) return Alone(program, 1, 1) * kFar[program];
    if (measurement.kind == Measurement::Kind::kSiblings)
      return Alone(program, 1, 1) * kSibling[program];
    if (!measurement.IsOnSharedCores()) return Alone(program, cores, threads);
    const auto tenants = static_cast<double>(measurement.programs.size());
    double rate = measurement.shared_cores / (tenants * cores);
    double others = tenants * cores / measurement.shared_cores - 1;
    if (measurement.kind == Measurement::Kind::kMixed) {
      rate = tenant == 0 ? kWeight / (1 + kWeight) : 1 / (1 + kWeight);
      others = 1;
    }
    return Alone(program, cores, threads) / rate * Loss(program, threads, others);
  }
  static double Loss(size_t program, int threads, double others) {
    return 1 + (threads > 1 ? 0.3 : 0.05) * (program == 0 ? 1 : 0.5) * others;
  }

  static constexpr double kWeight = 0.25;
  static constexpr double kSibling[] = {1.6, 1.3};
  static constexpr double kFar[] = {1.4, 1.1};
  static constexpr double kMemory[] = {3e8, 2e7};
  static constexpr double kMoveRate = 2e9;
  static constexpr double kPressure[] = {1, 0.5};
  static constexpr double kSensitivity[] = {0.2, 0.4};

  double now_ = 100;
  double drift_ = 0;  // Drift of step times, a second.
  int interrupt_after_ = -1;
  std::vector<Measurement> measured_;
  std::vector<CalibrationProgress> told_;

 private:
  static Measured Interrupted() {
    Measured measured;
    measured.interrupted = true;
    return measured;
  }

  const double noise_;
  Random random_;
};

inline const std::vector<TenantSpec> kPrograms = {ProgramOf("resnet20"), ProgramOf("lenet5")};

}  // namespace cosched
