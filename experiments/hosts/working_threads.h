#pragma once
// Which of a tenant's compute threads work, and how long they spent on looking for work: what the
// kernel says of them beside what they tell in their records. Called by a host for its samples. Not
// thread-safe.
//
// A thread counts as runnable only while it has work: one that spins, or is on its way to sleep, is
// in state R, too. But where its pool has work that nobody has taken, a thread in state R only
// waits for a core to take it, as crowded threads do. One that tells nothing works. The tenant's
// word never makes more of the kernel's figures, and less only of its own.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/clock.h"
#include "engine/pool/work_record.h"
#include "experiments/os/process_sampler.h"

namespace cosched {

class WorkingThreads {
 public:
  // The records outlive it.
  WorkingThreads(std::span<const WorkRecord> inter, std::span<const WorkRecord> intra)
      : inter_(inter), intra_(intra) {}

  // The number of the task that a compute thread is in, as it says; nullopt if it has no work, is no
  // thread of a pool or tells nothing.
  std::optional<uint32_t> TaskOf(const ProcessSampler::Thread& thread) const;
  // In state R, with work.
  int Runnable(const std::vector<ProcessSampler::Thread>& threads) const;
  // CPU time that compute threads, those seen so far, have spent on looking for work: no less than
  // it was before, and no more than `run_time`, all that they used.
  Duration SpinTime(const std::vector<ProcessSampler::Thread>& threads, Duration run_time);

 private:
  const WorkRecord* RecordOf(const PoolThread& worker) const;

  std::span<const WorkRecord> inter_, intra_;
  size_t inter_seen_ = 0, intra_seen_ = 0;  // Records before these are in use.
  Duration spin_time_{0};
};

}  // namespace cosched
