#pragma once
// How the cores of a tenant that has ranks are divided among them. Pure; called by rank 0 whenever
// its host, or a person, resizes the tenant.

#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/gates/remote_lanes.h"

namespace cosched {

// By rank: disjoint parts of the cores, in their order, of sizes that differ by one at most; the
// first ranks have the larger ones, so rank 0 has a core if anybody has. A rank without one pauses,
// and gives its calls back, unless all do. Of as many calls as the split wants side by side each rank
// makes its part, rounded up; as many threads as its cores at most. REQUIRES: ranks >= 1.
std::vector<RankPlace> ShareAmongRanks(const CpuSet& cores, Split split, int ranks);

}  // namespace cosched
