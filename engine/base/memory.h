#pragma once
// How much memory this process could still take before the system would have to kill somebody.
// Asked by the session before it takes much. Thread-safe.

#include <cstdint>

namespace cosched {

// Linux's MemAvailable, and what the process's control groups (v2) still allow, the least of them;
// the largest number where the system does not tell.
int64_t AvailableMemory();

}  // namespace cosched
