#pragma once
// Turns "k cores" into concrete cores: sticky (a job keeps the cores it has; fewest moves), then
// whole physical cores, then cores that share its L3, then its NUMA node. Pure functions; called by
// the arbiter and the harness.

#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"

namespace cosched {

// `count` cores out of held | available, keeping as many of `held` as possible. REQUIRES: enough of
// them.
CpuSet PlaceCores(const Topology& topology, const CpuSet& held, const CpuSet& available, int count);

// The cores in so many parts of equal size, each of cores that are close together. REQUIRES: they
// can be divided so.
std::vector<CpuSet> DivideCores(const Topology& topology, const CpuSet& cores, int parts);

}  // namespace cosched
