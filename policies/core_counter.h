#pragma once
// How many hold each core: a multiset of CPUs that also knows, at no cost, which are held at all.

#include <vector>

#include "engine/base/cpu_set.h"

namespace cosched {

class CoreCounter {
 public:
  void Add(const CpuSet& cores);
  void Remove(const CpuSet& cores);  // REQUIRES: each was added more often than removed.

  int Count(int cpu) const;
  const CpuSet& Held() const { return held_; }  // Counted at least once.

 private:
  std::vector<int> counts_;  // By CPU.
  CpuSet held_;
};

}  // namespace cosched
