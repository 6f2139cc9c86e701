#pragma once
// What is asked of a session's pools and what came of it. Written by whoever resizes (a trigger, a
// test, a person's command), taken by ThreadPools. Values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"

namespace cosched {

// The threads somebody wants, before they are clamped to the cores and the capacity. Pausing does
// not touch the rest, so that resuming returns to it.
struct WantedThreads {
  CpuSet cores;
  Split split{0, 0};
  bool paused = false;
};

// A change of some of it; what is left out stays as it is wanted at that moment, so that changes of
// different things by different threads never undo each other. Inter or intra 0, no cores, or
// paused: no thread computes.
struct ResizeRequest {
  std::optional<CpuSet> cores = std::nullopt;
  std::optional<int> inter = std::nullopt, intra = std::nullopt;
  std::optional<bool> paused = std::nullopt;
  // Who asked ("grant", "signal", …), handed on to the report. The text outlives the pools.
  std::string_view cause = {};
};

// Exactly one for each request, in their order.
struct ResizeReport {
  int64_t sequence = 0;                         // What Resize returned: 1, 2, 3, …
  std::chrono::steady_clock::time_point start;  // When Resize was called,
  std::chrono::nanoseconds taken{0};            // … and until the last thread was in its place.
  Split before{0, 0}, after{0, 0};  // Effective, {0, 0} = paused; `before` when last in place.
  int change = 0;                   // Threads more, or fewer; 0 if they were only moved.
  CpuSet cores;                     // Where the threads are now.
  // Type of the op that ran at the start, "" = none; with several, that of the inter-op worker with
  // the highest index, the first to leave. It stays where it is as long as the pools.
  std::string_view op;
  std::string_view cause;
  bool overtaken = false;  // The next request came first; `taken` is the time until then.
};

}  // namespace cosched
