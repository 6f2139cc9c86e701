#pragma once
// How much of an experiment's cores programs other than this one and its tenants used meanwhile: a
// result that was measured beside a compile job says nothing about policies, and must say so. Used
// by a host on one thread.

#include <functional>
#include <map>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"

namespace cosched {

// Time that the kernel has accounted as used (or stolen by the hypervisor) on each of these CPUs
// since boot, from the text of /proc/stat with `ticks_per_second`. CPUs that it does not name have
// used nothing.
std::map<int, Duration> BusyTimes(const std::string& proc_stat, const CpuSet& cpus,
                                  int64_t ticks_per_second);
std::map<int, Duration> BusyTimes(const CpuSet& cpus);  // Now.

class ForeignLoad {
 public:
  // What it is told by the kernel.
  struct Sources {
    std::function<std::string()> proc_stat;
    int64_t ticks_per_second = 100;
    std::function<Duration()> now;
    // CPU time of those that are not foreign.
    std::function<Duration()> own;
  };
  // own: this process, and its children that have ended.
  static Sources WithChildren();
  // own: this process only. For CPUs that no tenant may run on.
  static Sources WithoutChildren();

  // Measures from now on.
  explicit ForeignLoad(CpuSet cpus, Sources sources = WithChildren());
  // Share of the CPUs' time since then: what they were busy, less what is our own. All of that
  // counts as spent on these CPUs, which is true of tenants and may not be of this process: where
  // it ran elsewhere, the share is too low by its time. Children that still run count as foreign,
  // and the kernel's ticks are 10 ms: ask when the tenants have ended, after some tenths of a
  // second at least. Waits until somebody has reaped them, 200 ms at most: only then are they
  // accounted to us. `ours`: time of processes that are ours and not our children, such as those of
  // containers.
  double Share(Duration ours = Duration(0)) const;

 private:
  struct Reading {
    Duration at, busy, own;
  };
  Reading Read() const;

  const CpuSet cpus_;
  const Sources sources_;
  const Reading start_;
};

}  // namespace cosched
