#include "policies/node_jobs.h"

#include <algorithm>

namespace cosched {
namespace {

size_t NodeOfRunning(const MachineView& view, const JobView& job) {
  for (size_t node = 0; node < view.nodes.size(); ++node) {
    if (view.nodes[node].Contains(job.cores)) return node;
  }
  return 0;
}

}  // namespace

// Those that run come first, or a newcomer would take what they have.
std::vector<std::vector<const JobView*>> JobsByNode(const MachineView& view) {
  std::vector<std::vector<const JobView*>> by_node(view.nodes.size());
  for (const JobView& job : view.jobs) {
    if (job.IsActive()) by_node[NodeOfRunning(view, job)].push_back(&job);
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
