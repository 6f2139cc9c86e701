#pragma once
// What sharing cores costs, from the runs of a calibration: each program's losses, and the weight
// of a thread among several (workloads/profile.h). Pure; called by FitProfile once step times,
// pressure and sensitivity are known.
//
// A tenant of N alike that share k cores, c cores each, runs for r = k / (N c) of the time. With A
// = its step time alone on c cores and X = sensitivity x pressure x (N - 1) x step time on 1 core,
// a step takes
//
//   (A / r) L (1 + X / (A / r L)) = A L / r + X,   so   L = (measured - X) r / A
//
// With two programs, the first with a thread of weight w on each of k cores and the second with one
// thread on one of them, the first's threads wait for that which shares its core and so has
// w / (1 + w) of it:
//
//   w = 1 / (measured / (A L) - 1), what they press on each other taken out
//
// The weight is the middle one of all programs: how long a thread that slept waits for its turn is
// the kernel's doing.

#include <vector>

#include "experiments/calibration/fit.h"

namespace cosched {

// Sets crowding and weight of the profile's programs, which are those of the series.
void FitCrowding(const std::vector<Series>& all, Profile* profile);

}  // namespace cosched
