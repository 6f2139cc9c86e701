#pragma once
// From what was measured to a profile: estimates with intervals, the scaling law, pressure and
// sensitivity, delays. And the profile as text, with how well its own models fit it. Pure; called
// by `cosched calibrate`.

#include <string>
#include <vector>

#include "experiments/calibration/measure.h"

namespace cosched {

// All runs of one measurement.
struct Series {
  Measurement measurement;
  std::vector<Measured> runs;
  double seconds = 0;  // That they took in all.
};

// Median over the runs, one number each. REQUIRES: at least one run.
Estimate StepTime(const Series& series, size_t tenant);

Profile FitProfile(const std::vector<Series>& series, const std::vector<TenantSpec>& programs,
                   int cores);

std::string ProfileTable(const Profile& profile);

}  // namespace cosched
