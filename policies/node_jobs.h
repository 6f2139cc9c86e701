#pragma once
// The jobs of each node, for policies that grant shares of it. Pure.

#include <span>
#include <vector>

#include "policies/machine_view.h"

namespace cosched {

struct NodeJob {
  const JobView* job;
  size_t rank;  // Of all jobs in order of submission, from 0.
};

// The jobs of a view: all of them, and by node. Valid until the view changes.
class NodeJobs {
 public:
  explicit NodeJobs(const MachineView& view);

  const std::vector<const JobView*>& ByRank() const { return by_rank_; }
  size_t Nodes() const { return ends_.size(); }
  // Those that run there first, then those that wait or are paused: in the node that they must stay
  // in, or in the one with fewest jobs; each in order of submission.
  std::span<const NodeJob> Of(size_t node) const {
    const size_t begin = node == 0 ? 0 : ends_[node - 1];
    return {by_node_.data() + begin, ends_[node] - begin};
  }

 private:
  std::vector<const JobView*> by_rank_;
  std::vector<NodeJob> by_node_;  // Node after node.
  std::vector<size_t> ends_;      // Of the nodes in it.
};

}  // namespace cosched
