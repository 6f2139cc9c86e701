#pragma once
// How much of the cores programs other than this one and its tenants used meanwhile: a result that
// was measured beside a compile job says nothing about policies, and must say so. Used by the
// harness on one thread.

#include <map>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"

namespace cosched {

// Time that the kernel has accounted as used (or stolen by the hypervisor) on these CPUs since
// boot, from the text of /proc/stat with `ticks_per_second`. CPUs that it does not name count
// nothing.
Duration BusyTime(const std::string& proc_stat, const CpuSet& cpus, int64_t ticks_per_second);

// The same of each of these CPUs, now.
std::map<int, Duration> BusyTimes(const CpuSet& cpus);

class ForeignLoad {
 public:
  explicit ForeignLoad(CpuSet cpus);  // Measures from now on.
  // Share of the CPUs' time since then, 0..1, less what this process and its ended children used.
  // Children that still run count as foreign, and the kernel's ticks are 10 ms: ask when the
  // tenants have ended, after some tenths of a second at least. Waits until somebody has reaped
  // them, 200 ms at most: only then are they accounted to us.
  // `ours`: time of processes that are ours and not our children, such as those of containers.
  double Share(Duration ours = Duration(0)) const;

 private:
  struct Reading {
    Duration at, busy, own;
  };
  Reading Read() const;

  const CpuSet cpus_;
  const Reading start_;
};

}  // namespace cosched
