#pragma once
// What of the machine is in use, and by whom: cores that one job owns, and nodes whose cores
// several jobs share, each with an amount of their time. A node's cores are owned or shared, never
// both, and the amounts of a node never exceed its cores: a share that grows waits for the shrinks
// that pay for it, as a core waits for its last owner. Kept by the arbiter. One thread.

#include <vector>

#include "policies/core_counter.h"
#include "policies/place.h"

namespace cosched {

// All that one job's threads may still be using.
struct Hold {
  CpuSet cores;  // Its own.
  int node = -1;
  CpuShare amount;  // On the node; 0 = it shares none.
};

class Occupancy {
 public:
  // nodes: disjoint; every share lies on one of them.
  explicit Occupancy(std::vector<CpuSet> nodes);

  // What a job holds that is nowhere else than there.
  Hold At(const Place& place) const;
  // … that is on its way from `hold` to there.
  Hold Joined(Hold hold, const Place& place) const;
  // A share leaves its node before it enters another one.
  bool MayJoin(const Place& place, const Hold& self) const;
  void Replace(const Hold& before, const Hold& now);

  // Whether a job that holds `self` may be told to go to `place`: nobody else is in its way.
  bool HasRoom(const Place& place, const Hold& self) const;
  // Every core that the hold touches.
  CpuSet CoresOf(const Hold& hold) const {
    return hold.node == -1 ? hold.cores : hold.cores | nodes_[static_cast<size_t>(hold.node)];
  }
  const std::vector<CpuSet>& Nodes() const { return nodes_; }
  // The node of exactly these cores. REQUIRES: there is one.
  int NodeOf(const CpuSet& cores) const;

 private:
  struct Sharers {
    int count = 0;
    CpuShare amount;  // All of theirs.
  };

  std::vector<CpuSet> nodes_;
  std::vector<int> node_of_core_;  // By core; -1 = it is in none.
  std::vector<Sharers> sharers_;   // By node.
  CpuSet shared_;                  // Cores of the nodes that somebody shares.
  CoreCounter owned_;
};

// The same where there is no Occupancy; O(nodes). REQUIRES: nodes are disjoint.
int NodeOf(const std::vector<CpuSet>& nodes, const CpuSet& cores);

}  // namespace cosched
