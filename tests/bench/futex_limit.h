#pragma once
// What the kernel alone needs to wake a thread on another core: one futex, no pool. What a pool's
// grow takes beyond this is its own. Used by bench_pool and bench_resize, beside their figures.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/base/topology.h"
#include "engine/pool/futex.h"

namespace cosched {

class FutexLimit {
 public:
  // The sleeper is bound to the machine's last core, as a pool's worker, and the calling thread to
  // the first, for as long as this lives.
  FutexLimit() : before_(topology_.ThreadBinding(0)) {
    sleeper_ = std::thread([this] { Sleep(); });
    topology_.BindThread(0, {topology_.Cpus().First()});
    Await(&awake_, 1);  // The sleeper has its core.
  }
  ~FutexLimit() {
    stop_ = true;
    Wake();
    sleeper_.join();
    topology_.BindThread(0, before_);
  }
  FutexLimit(const FutexLimit&) = delete;
  FutexLimit& operator=(const FutexLimit&) = delete;

  // From before the wake-up until the sleeper runs. The sleeper has slept since the last call.
  std::chrono::nanoseconds Wake() {
    awake_.store(0);
    const auto start = std::chrono::steady_clock::now();
    posted_.store(1);
    FutexWake(&posted_);
    Await(&awake_, 1);
    return woken_ - start;
  }

 private:
  static void Await(const std::atomic<uint32_t>* word, uint32_t value) {
    for (uint32_t seen; (seen = word->load()) != value;) FutexWait(word, seen);
  }
  void Sleep() {
    topology_.BindThread(0, {topology_.Cpus().ToVector().back()});
    do {
      awake_.store(1);
      FutexWake(&awake_);
      Await(&posted_, 1);
      woken_ = std::chrono::steady_clock::now();
      posted_.store(0);
    } while (!stop_);
    awake_.store(1);
    FutexWake(&awake_);
  }

  const Topology topology_ = Topology::ThisMachine();
  const CpuSet before_;
  std::atomic<uint32_t> posted_{0}, awake_{0};
  std::atomic<bool> stop_{false};
  std::chrono::steady_clock::time_point woken_;  // Read after `awake_`, written before.
  std::thread sleeper_;
};

}  // namespace cosched
