#pragma once
// What a compute thread tells of its waiting, and how long it looks for work before it sleeps.
// Written by the threads of the pools, each its own record; read at any time by whoever shares the
// memory, such as a tenant's host (experiments/wire/shared_counters.h). Values: plain memory in
// which all bytes are 0 holds records of threads that have always worked.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cosched {

// What is written often has a cache line apart from what others watch: a loop of some microseconds
// is mostly the moving of such lines between cores.
constexpr size_t kCacheLine = 64;

// How long a worker without work, or a caller whose last tasks run elsewhere, looks before it
// sleeps: some times what it takes to wake it again (13 us measured, and more on a busy host). With
// no more than that, two threads of which one was late once go on finding each other asleep, loop
// after loop. LeNet-5, batch 8 on 2 cores: 109,000 images/s instead of 93,000 with 15 us. Two
// processes on the same cores were as fast as with those.
constexpr std::chrono::nanoseconds kSpin{50'000};

struct alignas(kCacheLine) WorkRecord {
  // 1 from the end of a thread's last task to the begin of its next: it looks for work, waits for
  // the last tasks of a loop, sleeps, or is on its way to sleep or back.
  std::atomic<uint32_t> without_work{0};
  std::atomic<int64_t> spin_time{0};  // CPU time spent on looking so far, in ns.
  // Tasks of loops and closures that the thread has begun: while it has work and this stays, it is in
  // one of them still, and can't leave its pool.
  std::atomic<uint32_t> tasks{0};
  // In a pool's own record: its running loops and queued closures of which something is still to be
  // taken. While there are any, a thread in state R has work, whatever it told before it lost its
  // core: it could not yet hear of it.
  std::atomic<int32_t> untaken{0};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free &&
                  std::atomic<int64_t>::is_always_lock_free,
              "processes can't share a lock that lives in one of them");

// How the threads of two pools wait.
struct Waiting {
  std::chrono::nanoseconds spin = kSpin;  // 0: a thread without work sleeps at once.
  // The first is the pool's own, worker i has the one at i + 1. Those beyond the end tell nobody.
  // They outlive the pools.
  std::span<WorkRecord> inter = {}, intra = {};
};

}  // namespace cosched
