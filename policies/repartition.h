#pragma once
// What policies share that divide all cores anew at each event (equal-share, credit-knee,
// bottleneck-first, marginal-speedup, hesrpt, srpt, lend-reclaim, round-robin). Pure functions.

#include <vector>

#include "policies/policy.h"

namespace cosched {

// Who shares the machine: all running jobs by start, then the queue as long as each fits with its
// min; nobody overtakes. Cores beyond everybody's min go to `left`.
std::vector<const JobView*> RunningAndNext(const MachineView& view, int* left);

struct CoreBounds {
  int min = 0;
  int max = 0;
};
// Each has its min; `left` more cores go one by one to whoever has least and may have more, the
// first of the list among equals. O(n log max), whatever `left` is.
std::vector<int> DivideEqually(const std::vector<CoreBounds>& bounds, int left);

// All cores to RunningAndNext, within each job's min and max (equal-share).
Allocation ShareEqually(const MachineView& view);

// The most cores that do the job any good: its max, and of one whose threads are fixed (rigid, or
// moldable and started) as many as it has threads.
int UsefulCores(const JobView& job);

// Adds to the allocation what brings the job to this number of cores, if it is not there; 0 pauses
// a running job and leaves one that waits or is paused as it is.
void GiveCores(const JobView& job, int cores, Allocation* allocation);

}  // namespace cosched
