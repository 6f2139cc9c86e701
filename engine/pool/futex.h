#pragma once
// Linux futexes, directly: std::atomic::wait shares its waiters between unrelated objects and so
// may wake a thread that must stay parked. Here every sleeper has a word of its own. Used inside
// engine/pool only.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace cosched {

// Sleeps while *word == expected; may return early, so callers loop. `timeout` < 0: no limit.
void FutexWait(const std::atomic<uint32_t>* word, uint32_t expected,
               std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1));
// Wakes sleepers. The word is only an address to the kernel: it may be gone already, then at worst
// some other sleeper of this process wakes early and looks again.
void FutexWake(const std::atomic<uint32_t>* word);     // Wakes one sleeper.
void FutexWakeAll(const std::atomic<uint32_t>* word);  // Wakes all.

// One thread waits, one other posts; a post before the wait is kept. The one who posts owns the
// right to post (the pool's lock decides), so there is never a second post before the wait.
class BinaryEvent {
 public:
  void Wait();
  void Post();

 private:
  enum : uint32_t { kEmpty, kPosted, kSleeping };
  std::atomic<uint32_t> word_{kEmpty};
};

}  // namespace cosched
