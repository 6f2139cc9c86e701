#include "policies/core_counter.h"

#include "engine/base/check.h"

namespace cosched {

void CoreCounter::Add(const CpuSet& cores) {
  if (held_.Intersects(cores)) AddSecond(cores & held_);
  held_ |= cores;
}

void CoreCounter::AddSecond(const CpuSet& cores) {
  for (int cpu : cores) {
    const auto at = static_cast<size_t>(cpu);
    if (shared_counts_.size() <= at) shared_counts_.resize(at + 1);
    if (shared_.Contains(cpu)) {
      ++shared_counts_[at];
    } else {
      shared_counts_[at] = 2;
      shared_.Add(cpu);
    }
  }
}

void CoreCounter::Remove(const CpuSet& cores) {
  CHECK(held_.Contains(cores)) << "nobody holds cores " << (cores - held_).ToString();
  if (!shared_.Intersects(cores)) {
    held_ -= cores;
    return;
  }
  const CpuSet also_of_others = cores & shared_;
  held_ -= cores - also_of_others;
  for (int cpu : also_of_others) {
    if (--shared_counts_[static_cast<size_t>(cpu)] == 1) shared_.Remove(cpu);
  }
}

void CoreCounter::Replace(const CpuSet& before, const CpuSet& now) {
  if (before == now) return;
  Remove(before - now);
  Add(now - before);
}

int CoreCounter::Count(int cpu) const {
  if (shared_.Contains(cpu)) return shared_counts_[static_cast<size_t>(cpu)];
  return held_.Contains(cpu) ? 1 : 0;
}

}  // namespace cosched
