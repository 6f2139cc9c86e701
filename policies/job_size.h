#pragma once
// How large a job is, for policies that know its speed curve (PolicyInfo::needs_speed). Pure.

#include <vector>

#include "policies/machine_view.h"

namespace cosched {

// Seconds until the job would end if it ran alone on this many cores from now on. REQUIRES: cores
// >= 1, job.speed, job.steps > 0.
double SecondsLeft(const MachineView& view, const JobView& job, int cores);

// The exponent p, 0 < p < 1, with which k^p fits the jobs' speedups on 2 to `cores` cores best:
// least squares of ln(speed(k) / speed(1)) = p ln k, each job counted. REQUIRES: job->speed.
double FitSpeedExponent(const std::vector<const JobView*>& jobs, int cores);

}  // namespace cosched
