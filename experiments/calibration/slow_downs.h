#pragma once
// How much longer steps take beside others than alone, from the runs of a calibration. Each run is
// held against the run alone that was nearest in time, so that what the machine did to both cancels
// out. Pure; used by what is fitted to slow-downs (calibration_fit.cc, crowding_fit.h), and by the
// order of a calibration.

#include <vector>

#include "experiments/calibration/fit.h"

namespace cosched {

// The series in which the tenant's program ran alone with the same cores and threads. REQUIRES: it
// is there, and has a run.
const Series& AloneOf(const std::vector<Series>& all, const Measurement& measurement,
                      size_t tenant);

// One number a run. REQUIRES: both have runs.
Estimate PairedSlowDown(const Series& series, size_t tenant, const Series& alone);
// The same of tenants that are all alike: the mean over them is a run's number.
Estimate PairedSlowDownOfAll(const Series& series, const Series& alone);

}  // namespace cosched
