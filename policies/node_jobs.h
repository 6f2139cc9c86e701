#pragma once
// The jobs of each node, for policies that grant shares of it. Pure.

#include <vector>

#include "policies/machine_view.h"

namespace cosched {

// By node, those that run there first, then those that wait or are paused: in the node that they
// must stay in, or in the one with fewest jobs; each in order of submission.
std::vector<std::vector<const JobView*>> JobsByNode(const MachineView& view);

}  // namespace cosched
