#pragma once
// What a tenant that is a pipeline tells of its stages, and a simulated one as well. Plain data.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/clock.h"

namespace cosched {

struct StageCounters {
  // Now: batches that lack nothing but credits, room or a lane; calls that run, and that wait for
  // room below; items and bytes at its gate.
  int64_t ready = 0, running = 0, parked = 0, items = 0, bytes = 0;
  // So far: calls that ended and the items that they took, items dropped with requests that failed;
  // how long pieces of ended calls ran, and how long those calls lasted.
  int64_t calls = 0, taken = 0, dropped = 0;
  Duration busy{0}, lasted{0};
  bool waits = false;  // Its calls wait, on no core.
  friend bool operator==(const StageCounters&, const StageCounters&) = default;
};

struct PipelineCounters {
  std::vector<StageCounters> stages = {};  // In order; none: it is no pipeline.
  int64_t open = 0;                        // Requests that were admitted and have no answer.
  int64_t open_requests = 0;               // How many of them credits allow.
  friend bool operator==(const PipelineCounters&, const PipelineCounters&) = default;
};

}  // namespace cosched
