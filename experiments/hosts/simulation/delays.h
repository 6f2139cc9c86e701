#pragma once
// Which of the measured delays (workloads/draw_delay.h) a resize takes. They are from the request
// to the last thread in place, so a grow or a shrink waits for the running tasks and a pause for
// the next safe point: both are in the measured delay. Pure.

#include "engine/base/cpu_set.h"
#include "workloads/profile.h"

namespace cosched {

// Of a move from some cores to others: pause and resume where one of them is none, grow where there
// are more, shrink where there are fewer or just others.
const DelayQuantiles& ResizeDelayOf(const ResizeDelays& delays, const CpuSet& from,
                                    const CpuSet& to);

}  // namespace cosched
