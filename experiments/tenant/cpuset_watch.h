#pragma once
// Notices that somebody else has changed which cores this process may use: a container's or
// cgroup's cpuset, or the affinity masks of all its threads (taskset -ap). Used by the tenant's
// control thread, on that thread only.
//
// The calling thread is the witness: its own mask tells the truth because the pools never bind it.
// A bound thread's mask does not: it looks narrower than the cpuset, and whether a pin survives a
// change of the cpuset depends on the kernel. Two ways to hear of a change: inotify on the cpuset's
// file, at once after a write to it (also on a container's read-only mount), and, for all else
// (a parent's cpuset, hot-unplugging, taskset, a move to another group), looking at the mask every
// kPeriod. tests/bench/bench_watch.cc measures both and what they cost.

#include <chrono>
#include <filesystem>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"
#include "experiments/os/file_watch.h"

namespace cosched {

class CpusetWatch {
 public:
  // A change must be followed within 5 ms. Waking up for a look costs about 20 us, nearly all of it
  // in the kernel, so that this is half a percent of a core.
  static constexpr std::chrono::milliseconds kPeriod{4};

  // The topology outlives it. REQUIRES: made and used on one thread.
  explicit CpusetWatch(const Topology& topology);

  int fd() const { return writes_.fd(); }  // Readable after a write to the cpuset; -1 = none.
  void Drain() { writes_.Drain(); }        // Takes what made fd() readable.
  // Looks. True if the mask is another than at the last look.
  bool Look();
  const CpuSet& Mask() const { return mask_; }
  // The witness may run on these cores from now on, as far as the cpuset allows: what the mask is
  // from here on is no news.
  void MoveWitness(const CpuSet& cores);

 private:
  void WatchOwnGroup();

  const Topology& topology_;
  std::filesystem::path file_;  // That is watched.
  FileWatch writes_;
  CpuSet mask_;
};

}  // namespace cosched
