#pragma once
// The NUMA nodes of CPUs: which memory is near to whom. Called by what moves tenants' memory after
// them, by the simulator, which charges for it, and by calibration. Immutable, so thread-safe.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"

namespace cosched {

// A set of nodes by their numbers; its text is an interval set, as that of CPUs is.
struct NumaNodes {
  CpuSet numbers;

  bool Empty() const { return numbers.Empty(); }
  int Count() const { return numbers.Count(); }
  bool Contains(const NumaNodes& other) const { return numbers.Contains(other.numbers); }
  std::string ToString() const { return numbers.ToString(); }
  friend NumaNodes operator-(const NumaNodes& a, const NumaNodes& b) {
    return {a.numbers - b.numbers};
  }
  friend NumaNodes operator|(const NumaNodes& a, const NumaNodes& b) {
    return {a.numbers | b.numbers};
  }
  friend bool operator==(const NumaNodes&, const NumaNodes&) = default;
};

class NumaMap {
 public:
  // One node: nothing is far.
  NumaMap() = default;
  // Of this machine by the kernel's numbers, which are what it is asked by; of one that is not here
  // by hwloc's. hwloc would take any request about the latter, and do nothing: ThisSystem() tells.
  static NumaMap Of(const Topology& topology);
  // As the kernel lists them in a folder like /sys/devices/system/node, of this machine; one node if
  // there is none.
  static NumaMap FromSysfs(const std::filesystem::path& folder);

  bool ThisSystem() const { return this_system_; }
  // Nodes that have CPUs; 1 where nothing is known of them.
  int Count() const;
  // A CPU that is of no node counts as of the first.
  int NodeOf(int cpu) const;
  NumaNodes NodesOf(const CpuSet& cpus) const;

 private:
  std::vector<int> node_by_cpu_;  // -1: of none.
  bool this_system_ = false;
};

}  // namespace cosched
