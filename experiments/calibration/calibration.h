#pragma once
// The order of a calibration and what comes out of it: every measurement once, then again and again
// in random order those whose interval is not yet tight, until all are or the time is up. Runs are
// short and many, so that each measurement sees the machine as it was throughout. Runs on one
// thread. How a measurement is made, and what the time is, are the caller's: tests have neither
// machine nor clock.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/calibration/measure.h"

namespace cosched {

// How far it is; told after every measurement.
struct CalibrationProgress {
  std::string what;    // Was just measured.
  std::string result;  // The estimate now.
  int tight = 0;       // Measurements that are done, of so many.
  int measurements = 0;
  double left_s = 0;  // Estimated: what the time limit leaves at most, but for first runs.
};

struct CalibrationOptions {
  double interval = 0.02;    // Tight: half of the width of an interval of at least 95 % is at most
                             // this share, twice it where it counts for half (calibration.cc).
  double seconds = 290;      // No new measurement begins after this; each is made once in any case.
  double measure_s = 0.5;    // A tenant's steps that count should last about this long on 1 core.
  uint64_t seed = 1;         // Seed of the order of measurements.
  int threads_per_core = 1;  // Hardware threads of one core that are cores here.
  int numa_nodes = 1;        // On which tenants' memory can be kept.
  std::function<double()> now;  // Seconds.
  std::function<Measured(const Measurement&, const std::vector<int64_t>& steps)> measure;
  std::function<void(const CalibrationProgress&)> progress = [](const auto&) {};
};

struct CalibrationResult {
  Profile
      profile;  // programs, co_runs, resize, decision, notes and cores; the rest is the caller's.
  int runs = 0;
  int not_tight = 0;  // When the time was up.
  int measurements = 0;
};

// nullopt: interrupted. REQUIRES: programs differ.
std::optional<CalibrationResult> Calibrate(const std::vector<TenantSpec>& programs, int cores,
                                           const CalibrationOptions& options);

}  // namespace cosched
