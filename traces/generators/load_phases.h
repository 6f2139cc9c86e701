#pragma once
// Load that changes in steps: arrivals at one rate for a while, then at another. Any process of
// gaps is stretched to the rates by inverting their integral (Cinlar, "Introduction to Stochastic
// Processes", 1975, chapter 4.7): exponential gaps make a Poisson process whose rate changes with
// the phases, fixed ones arrivals at constant distances. Pure; thread-safe.

#include <vector>

#include "engine/base/clock.h"
#include "engine/base/random.h"
#include "traces/generators/distribution.h"

namespace cosched {

struct LoadPhase {
  Duration length{0};
  double rate_per_s = 0;  // 0: nothing arrives.
  double work = 1;        // Factor on the work of what arrives.
};

struct PhaseArrival {
  Duration time{0};  // From the first phase's begin.
  double work = 1;   // The phase's factor.
};

// How many arrivals are expected.
double ExpectedArrivals(const std::vector<LoadPhase>& phases);

// All arrivals, in order. A gap of the distribution's mean is one over the rate. REQUIRES: a mean
// above 0. Equal arguments give equal arrivals on every platform.
std::vector<PhaseArrival> DrawPhases(const std::vector<LoadPhase>& phases, const Distribution& gap,
                                     Random random);

}  // namespace cosched
