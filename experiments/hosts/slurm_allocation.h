#pragma once
// The Slurm allocation in which this process runs, if it does. Stateless.

#include <string>
#include <vector>

namespace cosched {

// Why this process can't use the nodes of an allocation: it is in none. "" = it can.
std::string WhyNoSlurmAllocation();
// The names of its nodes, as Slurm lists them. Throws std::runtime_error with what Slurm says if it
// does not. REQUIRES: there is one.
std::vector<std::string> NodesOfAllocation();

}  // namespace cosched
