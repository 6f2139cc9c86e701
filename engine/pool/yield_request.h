#pragma once
// A hint to the workers that look for work: a thread of this process that is no worker has been
// woken and may want their core. Called by the executor when it wakes the caller of a run; heard by
// spin.h. Thread-safe.

#include <atomic>
#include <cstdint>

namespace cosched {

// Only a hint: it orders nothing, and who misses it keeps its core for the rest of one look.
inline constinit std::atomic<uint32_t> yield_requests{0};

// After the wake-up, or who yields would find nobody to yield to.
inline void RequestYield() { yield_requests.fetch_add(1, std::memory_order_relaxed); }

}  // namespace cosched
