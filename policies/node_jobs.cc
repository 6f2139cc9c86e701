#include "policies/node_jobs.h"

#include <algorithm>

namespace cosched {
namespace {

// By core.
std::vector<size_t> NodesOfCores(const MachineView& view) {
  std::vector<size_t> nodes;
  for (size_t node = 0; node < view.nodes.size(); ++node) {
    for (const int core : view.nodes[node]) {
      if (static_cast<size_t>(core) >= nodes.size()) nodes.resize(static_cast<size_t>(core) + 1);
      nodes[static_cast<size_t>(core)] = node;
    }
  }
  return nodes;
}

// The first one for a job that has no cores, or whose cores are in none alone.
size_t NodeOfRunning(const MachineView& view, const std::vector<size_t>& of_core,
                     const JobView& job) {
  if (job.cores.Empty()) return 0;
  const auto first = static_cast<size_t>(job.cores.First());
  const size_t node = first < of_core.size() ? of_core[first] : 0;
  return view.nodes[node].Contains(job.cores) ? node : 0;
}

}  // namespace

// Those that run come first, or a newcomer would take what they have.
std::vector<std::vector<const JobView*>> JobsByNode(const MachineView& view) {
  std::vector<std::vector<const JobView*>> by_node(view.nodes.size());
  const std::vector<size_t> of_core = NodesOfCores(view);
  for (const JobView& job : view.jobs) {
    if (job.IsActive()) by_node[NodeOfRunning(view, of_core, job)].push_back(&job);
  }
  for (const JobView& job : view.jobs) {
    if (job.IsActive()) continue;
    const auto fewest = std::min_element(
        by_node.begin(), by_node.end(),
        [](const auto& one, const auto& other) { return one.size() < other.size(); });
    const auto node =
        job.node ? static_cast<size_t>(*job.node) : static_cast<size_t>(fewest - by_node.begin());
    by_node[node].push_back(&job);
  }
  return by_node;
}

}  // namespace cosched
