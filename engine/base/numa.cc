#include "engine/base/numa.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

namespace cosched {
namespace {

namespace fs = std::filesystem;

// The number of a folder "node<number>"; -1 of any other.
int NodeNumber(const fs::path& folder) {
  constexpr std::string_view kPrefix = "node";
  const std::string name = folder.filename();
  int number = -1;
  if (!name.starts_with(kPrefix)) return -1;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, number);
  return error == std::errc() && rest == end ? number : -1;
}

}  // namespace

NumaMap NumaMap::Of(const Topology& topology) {
  NumaMap map;
  if (topology.IsThisSystem()) return FromSysfs("/sys/devices/system/node");
  for (const int cpu : topology.Cpus()) {
    map.node_by_cpu_.resize(static_cast<size_t>(cpu) + 1, -1);
    map.node_by_cpu_.back() = topology.Locate(cpu).numa;
  }
  return map;
}

NumaMap NumaMap::FromSysfs(const fs::path& folder) {
  NumaMap map;
  map.this_system_ = true;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const int node = NodeNumber(entry.path());
    if (node < 0) continue;
    std::ifstream file(entry.path() / "cpulist");
    std::string list;
    std::getline(file, list);
    for (const int cpu : CpuSet::Parse(list).value_or(CpuSet())) {
      const auto index = static_cast<size_t>(cpu);
      if (index >= map.node_by_cpu_.size()) map.node_by_cpu_.resize(index + 1, -1);
      map.node_by_cpu_[index] = node;
    }
  }
  return map;
}

int NumaMap::Count() const {
  CpuSet nodes;
  for (const int node : node_by_cpu_)
    if (node >= 0) nodes.Add(node);
  return std::max(1, nodes.Count());
}

int NumaMap::NodeOf(int cpu) const {
  const auto index = static_cast<size_t>(cpu);
  return index < node_by_cpu_.size() ? std::max(0, node_by_cpu_[index]) : 0;
}

NumaNodes NumaMap::NodesOf(const CpuSet& cpus) const {
  NumaNodes nodes;
  for (const int cpu : cpus) nodes.numbers.Add(NodeOf(cpu));
  return nodes;
}

}  // namespace cosched
