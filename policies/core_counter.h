#pragma once
// How many hold each core: a multiset of CPUs that also knows, at no cost, which are held at all
// and which by more than one. Cores of one holder cost nothing each.

#include <vector>

#include "engine/base/cpu_set.h"

namespace cosched {

class CoreCounter {
 public:
  void Add(const CpuSet& cores);
  void Remove(const CpuSet& cores);  // REQUIRES: each was added more often than removed.

  // Somebody who held `before` holds `now`; costs what differs.
  void Replace(const CpuSet& before, const CpuSet& now);

  int Count(int cpu) const;
  const CpuSet& Held() const { return held_; }      // Counted at least once.
  const CpuSet& Shared() const { return shared_; }  // Counted at least twice.

 private:
  void AddSecond(const CpuSet& cores);  // REQUIRES: all are held.

  CpuSet held_;
  CpuSet shared_;
  std::vector<int> shared_counts_;  // By CPU; of those that are not shared it means nothing.
};

}  // namespace cosched
