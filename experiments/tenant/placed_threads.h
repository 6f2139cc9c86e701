#pragma once
// Which threads an engine's pools have bound to a core each, for what confines all others of the
// process (ConfineThreads): their ids are asked for, no thread's name is read. Called by tenants.

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/pool/malleable_pool.h"
#include "engine/pool/thread_pools.h"

namespace cosched {

// For one thread that asks; the pools outlive it. A pool may make a thread between two questions, so
// one that is not known is looked for anew.
inline std::function<bool(int)> PlacedThreadsOf(ThreadPools* pools) {
  return [pools, known = std::vector<int>()](int thread) mutable {
    const auto knows = [&known, thread] { return std::ranges::find(known, thread) != known.end(); };
    if (knows()) return true;
    known = pools->inter().ThreadIds();
    const std::vector<int> more = pools->intra().ThreadIds();
    known.insert(known.end(), more.begin(), more.end());
    return knows();
  };
}

}  // namespace cosched
