#pragma once
// One running ParallelFor, as the pool sees it. Used by the pool only (malleable_pool_impl.h).

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "engine/pool/function_ref.h"
#include "engine/pool/futex.h"
#include "engine/pool/spin.h"
#include "engine/pool/spin_budget.h"

namespace cosched {

// How many loops' tasks the calling thread is within.
inline thread_local constinit int loops_within = 0;

// The budget of the calling thread's waits for the last tasks of its loops.
inline thread_local constinit SpinBudget wait_budget;

class Loop;

// Who is in a loop. Outlives the loop, so that a worker may come without the pool's lock, and finds
// it closed if it is late. One loop at a time has it.
class alignas(kCacheLine) LoopDoor {
 public:
  // By the loop's caller, while nobody can be in it.
  void Open(Loop* loop) {
    loop_ = loop;
    state_.fetch_or(kOpen, std::memory_order_release);
  }
  void Close() { state_.fetch_and(~kOpen, std::memory_order_acq_rel); }
  // Once closed: until the last one has left.
  bool Empty() const { return (state_.load(std::memory_order_acquire) & kCount) == 0; }
  void SleepUntilEmpty() {
    uint32_t seen = state_.fetch_or(kCallerSleeps, std::memory_order_acquire) | kCallerSleeps;
    while ((seen & kCount) != 0) {
      FutexWait(&state_, seen);
      seen = state_.load(std::memory_order_acquire);
    }
    state_.fetch_and(~kCallerSleeps, std::memory_order_relaxed);
  }

  // By a worker: the loop, which stays until Leave(); null if none is open.
  Loop* Enter() {
    if ((state_.load(std::memory_order_relaxed) & kOpen) == 0) return nullptr;
    if ((state_.fetch_add(1, std::memory_order_acquire) & kOpen) != 0) return loop_;
    Leave();
    return nullptr;
  }
  void Leave() {
    // Once the count has dropped the caller may go on, so only the address may be used after it.
    const std::atomic<uint32_t>* word = &state_;
    if (state_.fetch_sub(1, std::memory_order_acq_rel) == (kCallerSleeps | 1)) FutexWake(word);
  }
  uint32_t Inside() const { return state_.load(std::memory_order_relaxed) & kCount; }

 private:
  static constexpr uint32_t kOpen = 1u << 31, kCallerSleeps = 1u << 30, kCount = kCallerSleeps - 1;

  std::atomic<uint32_t> state_{0};
  Loop* loop_ = nullptr;
};

// One ParallelFor, on its caller's stack. A worker may touch it only while it is inside the loop's
// door: it comes under the pool's lock while the loop is listed, or through a door that it knows.
// The caller unlists the loop, closes the door and waits for the last one to leave.
class Loop {
 public:
  Loop(int tasks, FunctionRef<void(int)> body) : tasks_(tasks), body_(body) { NoteCpu(); }

  int Remaining() const {
    return static_cast<int>(std::max(int64_t{0}, tasks_ - next_.load(std::memory_order_relaxed)));
  }
  uint32_t Attached() const { return door_->Inside(); }
  // By the caller, before the loop is listed. A door of its own lasts as long as the loop.
  void Open(LoopDoor* door) {
    door_ = door != nullptr ? door : &own_door_;
    door_->Open(this);
  }
  LoopDoor* Door() const { return door_; }
  // By who has come through the door.
  void NoteCpu() {
    // CPUs that are 64 apart are taken for one, which costs no more than some yields.
    const uint64_t cpu = uint64_t{1} << (static_cast<unsigned>(sched_getcpu()) % 64);
    if ((cpus_.fetch_or(cpu, std::memory_order_relaxed) & cpu) != 0)
      shares_a_core_.store(true, std::memory_order_relaxed);
  }
  // Workers that may still be woken for this loop, at most `limit`; the caller runs one task
  // itself.
  int TakeWakeUps(int limit) {
    const int count = std::max(0, std::min({limit, Remaining(), tasks_ - 1 - woken_}));
    woken_ += count;
    return count;
  }

  // kAlways if two of its threads were on one core when they began: one of them may have to wait
  // until the other gives it up.
  Yields HowToYield() const {
    return shares_a_core_.load(std::memory_order_relaxed) ? Yields::kAlways : Yields::kOnRequest;
  }

  // Runs tasks until none is left or `leave()` after a task. Tasks must not throw: noexcept ends
  // the program, where unwinding would leave workers with a dead loop. meter: of the calling thread if
  // it is a compute thread, else null.
  template <typename Predicate>
  void Work(WorkMeter* meter, Predicate leave) noexcept {
    const FunctionRef<void(int)> body = body_;  // Not read again from a line that others write.
    const int tasks = tasks_;
    int64_t task;
    ++loops_within;
    while ((task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks) {
      if (meter != nullptr) meter->BeginTask();
      body(static_cast<int>(task));
      if (leave()) break;
    }
    --loops_within;
  }

  // By the caller, once the loop is unlisted and the door closed; with its meter if it is a compute
  // thread.
  void WaitForWorkers(std::chrono::nanoseconds spin, WorkMeter* meter) {
    LoopDoor& door = *door_;
    const auto alone = [&door] { return door.Empty(); };
    if (alone()) return;
    if (meter != nullptr) meter->SetWork(false);
    const auto start = std::chrono::steady_clock::now();
    if (SpinUntil(start, wait_budget.Of(spin), HowToYield(), meter, alone)) {
      wait_budget.Found();
    } else {
      if (meter != nullptr) {
        meter->Sleep([&door] { door.SleepUntilEmpty(); });
      } else {
        door.SleepUntilEmpty();
      }
      wait_budget.Slept(std::chrono::steady_clock::now() - start, spin);
    }
    if (meter != nullptr) meter->SetWork(true);
  }

  Loop* previous = nullptr;
  Loop* next = nullptr;

 private:
  const int tasks_;
  const FunctionRef<void(int)> body_;
  LoopDoor* door_ = nullptr;
  int woken_ = 0;                  // Guarded by the pool's lock.
  std::atomic<uint64_t> cpus_{0};  // On which its threads began.
  std::atomic<bool> shares_a_core_{false};
  LoopDoor own_door_;
  alignas(kCacheLine) std::atomic<int64_t> next_{0};  // 64 bits: workers count past the end
};

}  // namespace cosched
