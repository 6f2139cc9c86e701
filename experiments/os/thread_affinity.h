#pragma once
// Moves a process's threads to a set of cores from outside, as an operator would with taskset -a.
// Used by ProcessHost for tenants that know nothing of their grant, and by a malleable tenant for
// its own threads that the pools don't place.

#include <sys/types.h>

#include <functional>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"

namespace cosched {

enum class Confinement {
  kDone,      // every thread, also those born meanwhile, may run on these cores only
  kUnstable,  // threads kept appearing; ask again
  kGone,      // there is no such process
  kRefused,   // the kernel does not allow these cores (errno is kept)
};

// Every thread gets exactly these cores, but for one that may be left as it is (`except`; 0 = none),
// and for those of which `is_placed` says that they have a core of their own, as the workers of pools
// have: these keep what they are bound to where it is within the cores. It is asked of no other
// thread. REQUIRES: cores is not empty.
Confinement ConfineThreads(pid_t process, const CpuSet& cores, const Topology& topology,
                           const std::function<bool(pid_t)>& is_placed = nullptr, pid_t except = 0);

}  // namespace cosched
