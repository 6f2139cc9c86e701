#pragma once
// Chooses the scaling law of a program from its measured speed-ups: each law's parameters by least
// squares on log(speed-up), so that being wrong by 10 % counts alike on 2 cores and on 64; the law
// by leave-one-out cross-validation, because a law with more parameters always fits the points that
// it was fitted to. Called by `cosched calibrate`. Pure.

#include <vector>

#include "workloads/scaling_law.h"

namespace cosched {

struct SpeedUpPoint {
  double cores = 1;
  double speed_up = 1;  // Over 1 core.
};

// Points on 1 core say nothing (every law is 1 there). The law's `error` is the mean relative error
// at a point that was left out of the fit. Where nothing can be left out (one point besides 1 core,
// or none) the law is Amdahl's and its error is unknown; without any such point it is also without
// a serial part, which is a guess. REQUIRES: cores >= 1, speed-ups above 0.
ScalingLaw FitScalingLaw(const std::vector<SpeedUpPoint>& points);

// The same, of this law. REQUIRES: at least as many points beyond 1 core as it has parameters.
ScalingLaw FitScalingLaw(ScalingLaw::Kind kind, const std::vector<SpeedUpPoint>& points);

}  // namespace cosched
