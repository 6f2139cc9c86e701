#include "experiments/hosts/simulation/memory_place.h"

#include <algorithm>

namespace cosched {

MemoryPlace::Shares MemoryPlace::SharesOf(const CpuSet& cores) const {
  Shares shares;
  const double each = 1.0 / cores.Count();
  for (const int core : cores) {
    const auto node = static_cast<size_t>(map_->NodeOf(core));
    if (node >= shares.size()) shares.resize(node + 1);
    shares[node] += each;
  }
  return shares;
}

NumaNodes MemoryPlace::Nodes() const {
  NumaNodes nodes;
  for (size_t node = 0; node < shares_.size(); ++node)
    if (shares_[node] > 0) nodes.numbers.Add(static_cast<int>(node));
  return nodes;
}

double MemoryPlace::ShareOutside(const NumaNodes& nodes) const {
  double outside = 0;
  for (size_t node = 0; node < shares_.size(); ++node)
    if (!nodes.numbers.Contains(static_cast<int>(node))) outside += shares_[node];
  return outside;
}

void MemoryPlace::BringTo(const CpuSet& cores) {
  const NumaNodes to = map_->NodesOf(cores);
  const double outside = ShareOutside(to);
  const Shares by_cores = SharesOf(cores);
  shares_.resize(std::max(shares_.size(), by_cores.size()));
  for (size_t node = 0; node < shares_.size(); ++node) {
    if (!to.numbers.Contains(static_cast<int>(node))) shares_[node] = 0;
    if (node < by_cores.size()) shares_[node] += outside * by_cores[node];
  }
}

double MemoryPlace::Far(const CpuSet& cores) const {
  const Shares from = SharesOf(cores);
  double near = 0, near_if_touched_there = 0;
  for (size_t node = 0; node < from.size(); ++node) {
    near_if_touched_there += from[node] * from[node];
    if (node < shares_.size()) near += from[node] * shares_[node];
  }
  return std::clamp(near_if_touched_there - near, 0.0, 1.0);
}

}  // namespace cosched
