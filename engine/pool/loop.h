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

// The budget of the calling thread's waits for the last tasks of its loops.
inline thread_local constinit SpinBudget wait_budget;

// One ParallelFor, on its caller's stack. A worker may touch it only between Attach (under the
// pool's lock, while it is listed) and Detach; the caller unlists it and then waits for the last
// Detach.
class Loop {
 public:
  Loop(int tasks, FunctionRef<void(int)> body) : tasks_(tasks), body_(body) { NoteCpu(); }

  int Remaining() const {
    return static_cast<int>(std::max(int64_t{0}, tasks_ - next_.load(std::memory_order_relaxed)));
  }
  uint32_t Attached() const { return attached_.load(std::memory_order_relaxed) & ~kCallerSleeps; }
  void Attach() {
    attached_.fetch_add(1, std::memory_order_relaxed);
    NoteCpu();
  }
  // Workers that may still be woken for this loop, at most `limit`; the caller runs one task
  // itself.
  int TakeWakeUps(int limit) {
    const int count = std::max(0, std::min({limit, Remaining(), tasks_ - 1 - woken_}));
    woken_ += count;
    return count;
  }

  // kAlways if two of its threads were on one core when they began: one of them may have to wait
  // until the other gives it up. Under the pool's lock.
  Yields HowToYield() const { return shares_a_core_ ? Yields::kAlways : Yields::kOnRequest; }

  // Runs tasks until none is left or `leave()` after a task. Tasks must not throw: noexcept ends
  // the program, where unwinding would leave workers with a dead loop.
  template <typename Predicate>
  void Work(Predicate leave) noexcept {
    const FunctionRef<void(int)> body = body_;  // Not read again from a line that others write.
    const int tasks = tasks_;
    int64_t task;
    while ((task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks) {
      body(static_cast<int>(task));
      if (leave()) break;
    }
  }

  void Detach() {
    // Once the count has dropped the caller may return, so only the address of the word may be used
    // after it.
    const std::atomic<uint32_t>* word = &attached_;
    if (attached_.fetch_sub(1, std::memory_order_acq_rel) == (kCallerSleeps | 1)) FutexWake(word);
  }

  // By the caller, once unlisted; with its meter if it is a compute thread.
  void WaitForWorkers(std::chrono::nanoseconds spin, Yields yields, WorkMeter* meter) {
    const auto alone = [this] { return attached_.load(std::memory_order_acquire) == 0; };
    if (alone()) return;
    if (meter != nullptr) meter->SetWork(false);
    const auto start = std::chrono::steady_clock::now();
    if (SpinUntil(start, wait_budget.Of(spin), yields, meter, alone)) {
      wait_budget.Found();
    } else {
      if (meter != nullptr) {
        meter->Sleep([this] { SleepUntilAlone(); });
      } else {
        SleepUntilAlone();
      }
      wait_budget.Slept(std::chrono::steady_clock::now() - start, spin);
    }
    if (meter != nullptr) meter->SetWork(true);
  }

  Loop* previous = nullptr;
  Loop* next = nullptr;

 private:
  static constexpr uint32_t kCallerSleeps = 1u << 31;

  void SleepUntilAlone() {
    uint32_t seen = attached_.fetch_or(kCallerSleeps, std::memory_order_acquire) | kCallerSleeps;
    while (seen != kCallerSleeps) {
      FutexWait(&attached_, seen);
      seen = attached_.load(std::memory_order_acquire);
    }
  }

  // The calling thread's. CPUs that are 64 apart are taken for one, which costs no more than some
  // yields.
  void NoteCpu() {
    const uint64_t cpu = uint64_t{1} << (static_cast<unsigned>(sched_getcpu()) % 64);
    shares_a_core_ = shares_a_core_ || (cpus_ & cpu) != 0;
    cpus_ |= cpu;
  }

  const int tasks_;
  const FunctionRef<void(int)> body_;
  int woken_ = 0;  // Guarded by the pool's lock, as the next two.
  uint64_t cpus_ = 0;
  bool shares_a_core_ = false;
  std::atomic<uint32_t> attached_{0};
  alignas(kCacheLine) std::atomic<int64_t> next_{0};  // 64 bits: workers count past the end
};

}  // namespace cosched
