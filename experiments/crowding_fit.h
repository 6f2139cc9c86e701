#pragma once
// What sharing cores costs, from the runs of a calibration: each program's losses and weight
// (workloads/profile.h). Pure; called by FitProfile once step times, pressure and sensitivity are
// known.
//
// A tenant of N alike, each with as many threads as its cores, has the n-th part of the cores'
// time. With A = its step time with that to itself and X = sensitivity x pressure x (N - 1) x step
// time on 1 core, a step takes
//
//   A L (1 + X / (A L)) = A L + X,   so   L = (measured - X) / A
//
// Of two, the first with a thread of weight w on each of k cores and the second with one thread on
// one of them, the second has 1 / (1 + w) of its core, from which w follows, and the first
// k - 1 + w / (1 + w), from which its loss beside 1 / k threads a core does.

#include <vector>

#include "experiments/calibration_fit.h"

namespace cosched {

// Sets crowding and weight of the profile's programs, which are those of the series.
void FitCrowding(const std::vector<Series>& all, Profile* profile);

}  // namespace cosched
