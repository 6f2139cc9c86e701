#pragma once
// Delays as they were measured: drawn by inverting the distribution that a profile's quantiles
// give, in a straight line between them (Devroye, "Non-Uniform Random Variate Generation", 1986,
// II.2). For the simulator and for modelled devices. Pure.

#include "engine/base/clock.h"
#include "engine/base/random.h"
#include "workloads/profile.h"

namespace cosched {

// 0 if nothing was measured.
Duration DrawDelay(const DelayQuantiles& quantiles, Random* random);

}  // namespace cosched
