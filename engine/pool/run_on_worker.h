#pragma once
// A closure run by a worker of a pool while the caller waits: what is measured that way runs on the
// thread, and so on the core, that a session's nodes run on. Called by sessions and benchmarks.

#include "engine/pool/function_ref.h"
#include "engine/pool/futex.h"
#include "engine/pool/malleable_pool.h"

namespace cosched {

// Waits as long as the pool has no worker. The closure must not throw.
inline void RunOnWorker(MalleablePool* pool, FunctionRef<void()> closure) {
  BinaryEvent done;
  pool->Schedule([&] {
    closure();
    done.Post();
  });
  done.Wait();
}

}  // namespace cosched
