#include "policies/core_counter.h"

#include "engine/base/check.h"

namespace cosched {

void CoreCounter::Add(const CpuSet& cores) {
  for (int cpu : cores.ToVector()) {
    if (counts_.size() <= static_cast<size_t>(cpu)) counts_.resize(static_cast<size_t>(cpu) + 1);
    if (counts_[static_cast<size_t>(cpu)]++ == 0) held_.Add(cpu);
  }
}

void CoreCounter::Remove(const CpuSet& cores) {
  for (int cpu : cores.ToVector()) {
    CHECK(Count(cpu) > 0) << "nobody holds core " << cpu;
    if (--counts_[static_cast<size_t>(cpu)] == 0) held_.Remove(cpu);
  }
}

int CoreCounter::Count(int cpu) const {
  return static_cast<size_t>(cpu) < counts_.size() ? counts_[static_cast<size_t>(cpu)] : 0;
}

}  // namespace cosched
