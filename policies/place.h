#pragma once
// What a decision becomes and a host makes real: where a job's threads may be, how much CPU time
// they get there, how many they are, and of a pipeline how many requests may be open. A value;
// between arbiter and hosts.

#include <utility>

#include "engine/base/cpu_set.h"
#include "engine/base/cpu_share.h"
#include "engine/base/split.h"

namespace cosched {

struct Place {
  CpuSet cores;     // Where its threads may be; empty = paused.
  CpuShare amount;  // What they get there; of cores of its own, all of them.
  Split threads;
  int open_requests = 0;  // Of a pipeline; 0: as it is, or none is.

  // All the time of these cores.
  static Place Whole(CpuSet cores, Split threads) {
    const CpuShare all = CpuShare::OfCores(cores.Count());
    return {.cores = std::move(cores), .amount = all, .threads = threads};
  }
  static Place Paused() { return {.cores = {}, .amount = {}, .threads = {0, 0}}; }

  bool Pauses() const { return cores.Empty(); }
  // The cores are its own; else it has a share of them, beside others.
  bool Owns() const { return amount == CpuShare::OfCores(cores.Count()); }
  friend bool operator==(const Place&, const Place&) = default;
};

}  // namespace cosched
