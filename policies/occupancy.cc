#include "policies/occupancy.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

// Nodes are disjoint, so the first core tells which one it must be.
void CheckIsNode(const CpuSet& cores, bool is_node) {
  CHECK(is_node) << "cores " << cores.ToString() << " are shared and no node";
}

}  // namespace

int NodeOf(const std::vector<CpuSet>& nodes, const CpuSet& cores) {
  const auto node =
      std::find_if(nodes.begin(), nodes.end(),
                   [first = cores.First()](const CpuSet& one) { return one.Contains(first); });
  CheckIsNode(cores, node != nodes.end() && *node == cores);
  return static_cast<int>(node - nodes.begin());
}

Occupancy::Occupancy(std::vector<CpuSet> nodes)
    : nodes_(std::move(nodes)), sharers_(nodes_.size()) {
  for (size_t node = 0; node < nodes_.size(); ++node) {
    for (const int core : nodes_[node]) {
      const auto at = static_cast<size_t>(core);
      if (at >= node_of_core_.size()) node_of_core_.resize(at + 1, -1);
      node_of_core_[at] = static_cast<int>(node);
    }
  }
}

int Occupancy::NodeOf(const CpuSet& cores) const {
  const auto first = static_cast<size_t>(cores.First());  // Of no cores: beyond all.
  const int node = first < node_of_core_.size() ? node_of_core_[first] : -1;
  CheckIsNode(cores, node != -1 && nodes_[static_cast<size_t>(node)] == cores);
  return node;
}

Hold Occupancy::At(const Place& place) const {
  if (place.Owns()) return {.cores = place.cores, .node = -1, .amount = {}};
  return {.cores = {}, .node = NodeOf(place.cores), .amount = place.amount};
}

bool Occupancy::MayJoin(const Place& place, const Hold& self) const {
  return place.Owns() || self.node == -1 || self.node == NodeOf(place.cores);
}

Hold Occupancy::Joined(Hold hold, const Place& place) const {
  if (place.Owns()) {
    hold.cores = hold.cores | place.cores;
    return hold;
  }
  const int node = NodeOf(place.cores);
  CHECK(hold.node == -1 || hold.node == node) << "a share moves from node to node without a pause";
  hold.node = node;
  hold.amount = std::max(hold.amount, place.amount);
  return hold;
}

void Occupancy::Replace(const Hold& before, const Hold& now) {
  owned_.Replace(before.cores, now.cores);
  if (before.node == -1 && now.node == -1) return;
  const auto change = [this](const Hold& hold, int sign) {
    if (hold.node == -1) return;
    const auto node = static_cast<size_t>(hold.node);
    Sharers& there = sharers_[node];
    if (there.count == 0) shared_ |= nodes_[node];
    there.count += sign;
    if (there.count == 0) shared_ -= nodes_[node];
    there.amount.milli += sign * hold.amount.milli;
  };
  change(now, 1);  // First: a node whose only sharer stays is not taken away and added again.
  change(before, -1);
}

bool Occupancy::HasRoom(const Place& place, const Hold& self) const {
  const CpuSet& where = place.cores;
  if (where.Empty()) return true;
  const bool others_own =
      where.Intersects(owned_.Shared()) || where.Intersects(owned_.Held() - self.cores);
  if (others_own) return false;
  if (!place.Owns()) {
    const int node = NodeOf(where);
    const CpuShare own = self.node == node ? self.amount : CpuShare();
    const CpuShare all = sharers_[static_cast<size_t>(node)].amount - own + place.amount;
    return all <= CpuShare::OfCores(where.Count());
  }
  if (!where.Intersects(shared_)) return true;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    const int others = sharers_[node].count - (self.node == static_cast<int>(node) ? 1 : 0);
    if (others > 0 && where.Intersects(nodes_[node])) return false;
  }
  return true;
}

}  // namespace cosched
