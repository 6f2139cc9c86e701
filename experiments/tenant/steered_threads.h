#pragma once
// The threads that a tenant's control thread moves: the pools of an engine (pool_threads.h), or a
// program of somebody else's (program_threads.h). Called by ControlThread, from any thread where
// that is.

#include <cstdint>
#include <functional>

#include "engine/pool/resize.h"
#include "engine/pool/thread_pools.h"

namespace cosched {

class SteeredThreads {
 public:
  virtual ~SteeredThreads() = default;

  // As ThreadPools has them.
  virtual int64_t Resize(const ResizeRequest& request) = 0;
  virtual WantedThreads Wanted() const = 0;
  virtual bool Settled() const = 0;
  virtual void OnResized(std::function<void(const ResizeReport&)> report) = 0;
  virtual ThreadPools::ResizeTimes Times() const = 0;
  virtual CpuSet Cores() const = 0;
  virtual Split Current() const = 0;
  virtual int ActiveThreads() const = 0;
  // Tells the threads of this process that these have bound to a core each; null: none of them is of
  // this process. For one thread that asks.
  virtual std::function<bool(int)> Placed() const = 0;
};

}  // namespace cosched
