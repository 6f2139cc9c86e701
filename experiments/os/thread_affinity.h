#pragma once
// Moves a process's threads to a set of cores from outside, as an operator would with taskset -a.
// Used by ProcessHost for tenants that know nothing of their grant, and by a malleable tenant for
// its own threads that the pools don't place.

#include <sys/types.h>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"

namespace cosched {

enum class Confinement {
  kDone,      // every thread, also those born meanwhile, may run on these cores only
  kUnstable,  // threads kept appearing; ask again
  kGone,      // there is no such process
  kRefused,   // the kernel does not allow these cores (errno is kept)
};

enum class Which {
  kAll,           // every thread gets exactly these cores
  kExceptPlaced,  // the same, but compute threads that the pools have bound within these cores keep
                  // their core
};

// One thread may be left as it is (`except`; 0 = none). REQUIRES: cores is not empty.
Confinement ConfineThreads(pid_t process, const CpuSet& cores, Which which,
                           const Topology& topology, pid_t except = 0);

}  // namespace cosched
