#pragma once
// How our own loops are divided: into blocks that depend on the sizes only, so that every sum is
// taken in one order at any number of workers. Called by kernels/eigen/.

#include <algorithm>
#include <cstdint>

#include "engine/pool/thread_pools.h"

namespace cosched {

// `count` items as equal blocks (the last one may be shorter).
struct Blocks {
  // About this many elements are worth a task of their own; less runs inline.
  static constexpr int64_t kElements = 32768;

  int64_t count = 0, size = 1;

  // Blocks of about kElements, for items of `cost` elements each, but no more than `most` blocks.
  static Blocks Of(int64_t count, int64_t cost, int64_t most = INT32_MAX) {
    const int64_t worthwhile = std::max<int64_t>(kElements / std::max<int64_t>(cost, 1), 1);
    return {count, std::max(worthwhile, (count + most - 1) / most)};
  }
  int Number() const { return static_cast<int>((count + size - 1) / size); }

  // Calls body(block, begin, end) for each, on the pool unless there is only one.
  template <typename Body>
  void ForEach(ThreadPools& pools, Body body) const {
    const auto run = [this, &body](int block) {
      body(block, block * size, std::min((block + 1) * size, count));
    };
    if (Number() == 1) return run(0);
    pools.intra().ParallelFor(Number(), run);
  }
};

}  // namespace cosched
