#include "policies/node_jobs.h"

#include <algorithm>
#include <numeric>
#include <optional>

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

// Of jobs that run. Most must stay in a node, so the cores of the others are looked for only if
// there are any: with many nodes that costs more than a decision.
class RunningNodes {
 public:
  explicit RunningNodes(const MachineView& view) : view_(view) {}

  // The first one for a job that has no cores, or whose cores are in none alone.
  size_t Of(const JobView& job) {
    if (job.node) return static_cast<size_t>(*job.node);
    if (job.cores.Empty()) return 0;
    if (of_core_.empty()) of_core_ = NodesOfCores(view_);
    const auto first = static_cast<size_t>(job.cores.First());
    const size_t node = first < of_core_.size() ? of_core_[first] : 0;
    return view_.nodes[node].Contains(job.cores) ? node : 0;
  }

 private:
  const MachineView& view_;
  std::vector<size_t> of_core_;
};

}  // namespace

// Those that run come first, or a newcomer would take what they have.
NodeJobs::NodeJobs(const MachineView& view) : ends_(view.nodes.size()) {
  by_rank_.reserve(view.jobs.size());
  for (const JobView& job : view.jobs) by_rank_.push_back(&job);
  std::vector<size_t> nodes(by_rank_.size());  // By rank.
  std::vector<size_t> counts(view.nodes.size());
  std::vector<size_t> order, others;  // Ranks.
  order.reserve(by_rank_.size());
  RunningNodes running(view);
  for (size_t rank = 0; rank < by_rank_.size(); ++rank) {
    const JobView& job = *by_rank_[rank];
    (job.IsActive() ? order : others).push_back(rank);
    if (job.IsActive()) ++counts[nodes[rank] = running.Of(job)];
  }
  for (const size_t rank : others) {
    const std::optional<int> stays = by_rank_[rank]->node;
    const auto fewest = [&] { return std::min_element(counts.begin(), counts.end()); };
    nodes[rank] = static_cast<size_t>(stays ? *stays : fewest() - counts.begin());
    ++counts[nodes[rank]];
  }
  order.insert(order.end(), others.begin(), others.end());
  std::exclusive_scan(counts.begin(), counts.end(), ends_.begin(), size_t{0});
  by_node_.resize(order.size());
  for (const size_t rank : order) by_node_[ends_[nodes[rank]]++] = {by_rank_[rank], rank};
}

}  // namespace cosched
