#pragma once
// On which NUMA nodes a simulated tenant's memory lies, in shares. Pure; used by SimulatedHost.
//
// A tenant first touches its memory from all of its cores alike. What is far is told beyond that:
// one whose cores were on two nodes from its start has half of its memory far from either, and that
// is in its measured speed.

#include <vector>

#include "engine/base/numa.h"

namespace cosched {

class MemoryPlace {
 public:
  // The map outlives it. REQUIRES: cores is not empty, here and below.
  MemoryPlace(const NumaMap* map, const CpuSet& cores) : map_(map), shares_(SharesOf(cores)) {}

  NumaNodes Nodes() const;  // That have some.
  double ShareOutside(const NumaNodes& nodes) const;
  // What lies elsewhere goes to the nodes of these cores, to each by its cores.
  void BringTo(const CpuSet& cores);
  // The share of accesses from these cores that are far, beyond those of memory that was first
  // touched there: 0 to 1.
  double Far(const CpuSet& cores) const;

 private:
  using Shares = std::vector<double>;  // By node.
  Shares SharesOf(const CpuSet& cores) const;

  const NumaMap* map_;
  Shares shares_;
};

}  // namespace cosched
