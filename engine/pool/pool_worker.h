#pragma once
// One thread of a malleable pool. Used by malleable_pool*.cc only. Its state is guarded by the
// pool's lock; what others may touch without it is atomic.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <string>

#include "engine/pool/futex.h"
#include "engine/pool/spin.h"
#include "engine/pool/spin_budget.h"
#include "engine/pool/work_record.h"

namespace cosched {

enum class WorkerState {
  kParked,  // asleep, not wanted
  kWaking,  // wanted and posted, not yet awake
  kActive,  // awake
  kIdle,    // wanted, asleep until there is work; counts as active
  kHeld,    // asleep in the middle of a loop that it called: its pool is paused
};

struct alignas(kCacheLine) PoolWorker {
  int index = 0;
  int tid = 0;  // Written before it counts as made.
  WorkerState state = WorkerState::kParked;
  bool released =
      false;  // Out of a loop in which it was held, though it is not wanted; until it parks.
  bool draining = false;  // Only its own thread reads and writes this and the next two.
  SpinBudget look_budget;
  std::chrono::steady_clock::time_point look_start;  // When its last look for work began.
  std::atomic<const std::string*> activity{nullptr};
  BinaryEvent event;
  WorkMeter meter;
  WorkRecord record;  // Where the pool was given none for it.
  pthread_t thread{};
};

// The calling thread as a worker; a thread belongs to at most one pool.
struct CallingWorker {
  void* pool = nullptr;  // A MalleablePool::Impl.
  PoolWorker* worker = nullptr;
};
inline thread_local constinit CallingWorker calling_worker;
// How long it has been held in the middle of loops.
inline thread_local constinit std::chrono::nanoseconds time_held{0};

}  // namespace cosched
