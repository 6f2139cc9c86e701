#pragma once
// What is told of a tenant that has moved to other NUMA nodes. Plain data, of the hosts (real and
// simulated) and the records.

#include <cstdint>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/numa.h"
#include "policies/job.h"

namespace cosched {

// "moved": its memory was brought after it, as far as there was room. "stayed": it is to stay.
// "refused": it could not be brought, which a mark of the cell explains.
inline constexpr char kMemoryMoved[] = "moved";
inline constexpr char kMemoryStayed[] = "stayed";
inline constexpr char kMemoryRefused[] = "refused";

// One grant that took it away from nodes where it had memory.
struct MemoryMove {
  JobId job;
  TimePoint time;       // When it was over.
  NumaNodes from, to;   // Nodes that it left, and those of its cores.
  std::string outcome;  // One of those above.
  int64_t bytes = 0;    // That were moved.
  int64_t left = 0;     // That are still where it left, as far as that was looked at.
  Duration taken{0};    // From when it was begun.
};

}  // namespace cosched
