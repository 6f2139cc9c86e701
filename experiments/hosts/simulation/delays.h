#pragma once
// Delays as they were measured: drawn by inverting the distribution that the profile's quantiles
// give, in a straight line between them (Devroye, "Non-Uniform Random Variate Generation", 1986,
// II.2). From a request to the last thread in place, so a grow or a shrink waits for the running
// tasks and a pause for the next safe point: both are in the measured delay. Pure.

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "engine/base/random.h"
#include "workloads/profile.h"

namespace cosched {

// 0 if nothing was measured.
Duration DrawDelay(const DelayQuantiles& quantiles, Random* random);

// Which of the measured delays a move from some cores to others takes: pause and resume where one
// of them is none, grow where there are more, shrink where there are fewer or just others.
const DelayQuantiles& ResizeDelayOf(const ResizeDelays& delays, const CpuSet& from,
                                    const CpuSet& to);

}  // namespace cosched
