#include "policies/core_counter.h"

#include "engine/base/check.h"

namespace cosched {

void CoreCounter::Add(const CpuSet& cores) {
  for (int cpu : cores) {
    if (counts_.size() <= static_cast<size_t>(cpu)) counts_.resize(static_cast<size_t>(cpu) + 1);
    const int count = ++counts_[static_cast<size_t>(cpu)];
    if (count == 1) held_.Add(cpu);
    if (count == 2) shared_.Add(cpu);
  }
}

void CoreCounter::Remove(const CpuSet& cores) {
  for (int cpu : cores) {
    CHECK(Count(cpu) > 0) << "nobody holds core " << cpu;
    const int count = --counts_[static_cast<size_t>(cpu)];
    if (count == 0) held_.Remove(cpu);
    if (count == 1) shared_.Remove(cpu);
  }
}

void CoreCounter::Replace(const CpuSet& before, const CpuSet& now) {
  if (before == now) return;
  Remove(before - now);
  Add(now - before);
}

int CoreCounter::Count(int cpu) const {
  return static_cast<size_t>(cpu) < counts_.size() ? counts_[static_cast<size_t>(cpu)] : 0;
}

}  // namespace cosched
