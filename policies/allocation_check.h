#pragma once
// Turns a policy's answer into concrete targets, or says how it breaks the contract of
// policies/policy.h. Pure: it depends on the view and the answer only. Called by the arbiter for
// each decision.

#include <string>
#include <utility>
#include <vector>

#include "policies/place.h"
#include "policies/policy.h"

namespace cosched {

// Where jobs shall be.
using Targets = std::vector<std::pair<JobId, Place>>;  // By job, ascending.

// The targets of every job that the allocation runs or pauses (rejected ones are left out). Counts
// are placed sticky, on cores that are free now before those that are being vacated. Throws
// PolicyError. Costs what the allocation names, not what is in flight.
Targets ResolveAllocation(const MachineView& view, const Allocation& allocation,
                          bool oversubscribes);

// "3=0-1 4=reject 5=pause 6=0.7@0" (a share of 0.7 cores on node 0) "7=0-1/4" (4 open
// requests), by job.
std::string DescribeAllocation(const MachineView& view, const Allocation& allocation,
                               const Targets& targets);

}  // namespace cosched
