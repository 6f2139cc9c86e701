#include "policies/occupancy.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace cosched {

int NodeOf(const std::vector<CpuSet>& nodes, const CpuSet& cores) {
  const auto node = std::find(nodes.begin(), nodes.end(), cores);
  CHECK(node != nodes.end()) << "cores " << cores.ToString() << " are shared and no node";
  return static_cast<int>(node - nodes.begin());
}

Occupancy::Occupancy(std::vector<CpuSet> nodes)
    : nodes_(std::move(nodes)), sharers_(nodes_.size()) {}

Hold Occupancy::At(const Place& place) const {
  if (place.Owns()) return {.cores = place.cores, .node = -1, .amount = {}};
  return {.cores = {}, .node = NodeOf(nodes_, place.cores), .amount = place.amount};
}

Hold Occupancy::Joined(Hold hold, const Place& place) const {
  if (place.Owns()) {
    hold.cores = hold.cores | place.cores;
    return hold;
  }
  const int node = NodeOf(nodes_, place.cores);
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
    Sharers& there = sharers_[static_cast<size_t>(hold.node)];
    there.count += sign;
    there.amount.milli += sign * hold.amount.milli;
  };
  change(before, -1);
  change(now, 1);
  shared_ = CpuSet();
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (sharers_[node].count > 0) shared_ |= nodes_[node];
  }
}

bool Occupancy::HasRoom(const Place& place, const Hold& self) const {
  const CpuSet& where = place.cores;
  if (where.Empty()) return true;
  const bool others_own =
      where.Intersects(owned_.Shared()) || where.Intersects(owned_.Held() - self.cores);
  if (others_own) return false;
  if (!place.Owns()) {
    const int node = NodeOf(nodes_, where);
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
