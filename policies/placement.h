#pragma once
// Turns "k cores" into concrete cores: sticky (a job keeps the cores it has; fewest moves), then
// cores that share its L3, then its NUMA node. Pure functions; called by the arbiter and the
// harness.
//
// Where physical cores have several hardware threads that count as cores each, who computes on a
// core decides how fast the others on it are. So first of all:
//   1. Nobody is put on a physical core where somebody else is while there is one where nobody is.
//   2. A job's threads go on as few physical cores as they fit on, the sibling of a thread that it
//      has first: what k cores are worth to it depends on k and not on who was there before, as with
//      a cloud's vCPUs, of which two are one core.
//   3. Only then is what remains of other jobs' cores used; nobody is moved to make room.
// So jobs of one CPU have a physical core each until none is idle; where a core is left half idle,
// its sibling is the room in which its own job grows, until others have nowhere else to go.

#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"

namespace cosched {

// `count` cores out of held | available, keeping as many of `held` as possible. All other CPUs of
// the topology are somebody else's: it is of the cores that are shared out (Topology::Within).
// REQUIRES: enough of them.
CpuSet PlaceCores(const Topology& topology, const CpuSet& held, const CpuSet& available, int count);

// The cores in so many parts of equal size, each of cores that are close together. REQUIRES: they
// can be divided so.
std::vector<CpuSet> DivideCores(const Topology& topology, const CpuSet& cores, int parts);

}  // namespace cosched
