#pragma once
// The two pools of one session: inter-op workers run nodes, intra-op helpers join the loops inside
// a node. An inter-op worker that calls ParallelFor works in it, so a split {inter, intra} on k
// cores means `inter` workers and min(intra - 1, k - inter) helpers: runnable compute threads never
// exceed k. Thread-safe.

#include <chrono>
#include <cstdint>
#include <memory>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/pool/duration_histogram.h"
#include "engine/pool/malleable_pool.h"

namespace Eigen {
struct ThreadPoolDevice;
}
namespace dnnl::threadpool_interop {
struct threadpool_iface;
}

namespace cosched {

class Topology;

class ThreadPools {
 public:
  enum class Binding {
    kEachToItsCore,  // malleable: worker i is bound to one core of the grant; threads are clamped
                     // to the cores
    kNone,  // rigid, moldable: threads = the split whatever the cores; the kernel's scheduler
            // places them
  };

  // How long Resize took until the last thread was in place, grow and shrink (by the number of
  // threads) apart; a Resize that only moves threads, or that the next one overtakes, is in
  // neither.
  struct ResizeTimes {
    int64_t grows = 0, shrinks = 0;
    std::chrono::nanoseconds last_grow{0}, last_shrink{0};
    std::chrono::nanoseconds longest_grow{0}, longest_shrink{0};
    DurationHistogram grow, shrink;
  };

  // Capacity = the most each pool will ever hold; kernels divide their work for capacity.intra,
  // never for the workers of the moment. Nothing is active until the first Resize. topology may be
  // null with Binding::kNone.
  ThreadPools(Split capacity, Binding binding, const Topology* topology);
  ~ThreadPools();

  // Moves the pools to these cores and this split; any thread, any time, returns at once. An empty
  // set pauses at the next safe point (the end of a node) and keeps memory. Threads whose core
  // stays in the set keep it.
  void Resize(const CpuSet& cores, Split split);
  bool Settled() const;
  // Blocks until settled or the time is up; returns Settled().
  bool WaitSettled(std::chrono::nanoseconds timeout) const;
  ResizeTimes Times() const;

  CpuSet Cores() const;   // Of the last Resize.
  Split Current() const;  // Effective after clamping; {0, 0} when paused.
  Split Capacity() const;
  int ActiveThreads() const;  // Compute threads awake now, in both pools.

  MalleablePool& inter();
  MalleablePool& intra();
  // The same intra-op pool in the words of the two kernel libraries; both report capacity.intra
  // threads, always.
  dnnl::threadpool_interop::threadpool_iface& onednn();
  const Eigen::ThreadPoolDevice& eigen();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
