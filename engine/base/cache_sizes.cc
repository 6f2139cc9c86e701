#include "engine/base/cache_sizes.h"

#include <unistd.h>

#include <algorithm>

namespace cosched {

// Smaller ones than any core that computes has had for years are a virtual machine's invention, and
// of several megabytes a part belongs to neighbours.
SecondLevelCache SecondLevelCacheOf(int64_t reported) {
  constexpr int64_t kLeast = 256 << 10, kMost = 4 << 20;
  if (reported <= 0) return {};
  return {std::clamp(reported, kLeast, kMost), true};
}

const SecondLevelCache& ThisMachinesSecondLevelCache() {
  static const SecondLevelCache cache = SecondLevelCacheOf(sysconf(_SC_LEVEL2_CACHE_SIZE));
  return cache;
}

}  // namespace cosched
