#pragma once
// How much a core's second-level cache holds, by which work is cut so that it stays there: slices
// of batches, blocks of Winograd's tiles, products of one row. Read from the machine once, never
// measured, so that it is the same in every run on it. Thread-safe.

#include <cstdint>

namespace cosched {

// Bytes; known: whether the machine tells.
struct SecondLevelCache {
  int64_t bytes = 1 << 20;
  bool known = false;
};

// What the C library says of sysconf's kind; 0 or less: it says nothing.
SecondLevelCache SecondLevelCacheOf(int64_t reported);

const SecondLevelCache& ThisMachinesSecondLevelCache();

}  // namespace cosched
