#pragma once
// The two pools of one session, or of several that share them: inter-op workers run nodes, intra-op
// helpers join the loops inside a node. An inter-op worker that calls ParallelFor works in it, so a
// split {inter, intra} on k cores means `inter` workers and min(intra - 1, k - inter) helpers:
// runnable compute threads never exceed k, but where a pause with more inter-op workers than are
// wanted afterwards came in the middle of their loops: these end their pieces on cores of the others.
// Where threads are bound, a worker that has no node to
// run takes part in the loops of the others' nodes while fewer than `intra` threads do: {2, 2} on 2
// cores runs two nodes at once where the graph is wide, and one node on both cores where it is not.
// Thread-safe.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/pool/duration_histogram.h"
#include "engine/pool/malleable_pool.h"
#include "engine/pool/resize.h"
#include "engine/pool/work_record.h"

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

  // How long Resize took until the last thread was in place, made if need be, grow and shrink (by the number of
  // threads) apart; a Resize that only moves threads, or that the next one overtakes, is in
  // neither.
  struct ResizeTimes {
    int64_t grows = 0, shrinks = 0;
    std::chrono::nanoseconds last_grow{0}, last_shrink{0};
    DurationHistogram grow, shrink;
  };

  // Capacity = the most each pool will ever hold, for which kernels divide their work unless they
  // are told otherwise (SessionOptions::deterministic). Nothing is active until the first Resize.
  // topology may be null with Binding::kNone.
  ThreadPools(Split capacity, Binding binding, const Topology* topology,
              const Waiting& waiting = {});
  ~ThreadPools();

  // Changes what is wanted and moves the pools to it; any thread, any time, returns at once, with
  // the sequence number of its report. Threads whose core stays in the set keep it. Surplus threads
  // leave at the next safe point: a helper after its task, an inter-op worker after its piece of an
  // op. With none left the run is paused, in the middle of an op after the tasks that run, and its
  // memory kept. Throws ThreadError, with nothing changed, if threads can't be had that were never
  // needed before.
  int64_t Resize(const ResizeRequest& request);
  int64_t Resize(const CpuSet& cores, Split split, std::string_view cause = "");
  WantedThreads Wanted() const;
  bool Settled() const;
  // Blocks until settled or the time is up; returns Settled().
  bool WaitSettled(std::chrono::nanoseconds timeout) const;

  // `report` is called for every Resize once it has settled or was overtaken, in their order, by a
  // pool thread or the resizing one, with locks held: it must be quick and must not call the pools.
  // Replaces the one before, which is not running any more when this returns; null for none.
  void OnResized(std::function<void(const ResizeReport&)> report);
  // `offer` is called at the end of every Resize from now on, without locks, besides those given
  // before: there may be inter-op workers that have nothing to do yet. It outlives the pools.
  void OnWorkersAdded(std::function<void()> offer);

  ResizeTimes Times() const;
  // What the calling inter-op worker computes from now on: an op's type, kept by the graph.
  void SetRunningOp(const std::string* op);

  // Memory for what the calling worker, of either pool, computes now, aligned for vectors and kept:
  // its next call gets the same, still in its cache. Of those who are no workers only one may use
  // it at a time.
  std::byte* Scratch(size_t bytes);

  CpuSet Cores() const;   // The cores of the last Resize.
  Split Current() const;  // Threads held; those that idle workers lend come on top. {0, 0}: paused.
  // That may compute one node, those that idle workers lend included. 0: paused.
  int ThreadsAtANode() const;
  // Those of them that could begin just now: workers that compute other nodes are left out. At
  // least one, the calling one.
  int FreeThreadsAtANode() const;
  Split Capacity() const;
  int ActiveThreads() const;  // Compute threads awake now, in both pools.

  MalleablePool& inter();
  MalleablePool& intra();
  // The same intra-op pool in the words of the two kernel libraries. What they divide their work
  // for never changes: so many tasks, of 1 to capacity.intra; Eigen for capacity.intra.
  dnnl::threadpool_interop::threadpool_iface& onednn(int tasks);
  const Eigen::ThreadPoolDevice& eigen();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
