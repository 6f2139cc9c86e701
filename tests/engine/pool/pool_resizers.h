#pragma once
// What tests of one pool share: making it, waiting for it, and resizing it all the time.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "engine/pool/malleable_pool.h"

namespace cosched {

using WhenEmpty = MalleablePool::WhenEmpty;

inline std::unique_ptr<MalleablePool> MakePool(int capacity,
                                               WhenEmpty when_empty = WhenEmpty::kRunInCaller) {
  return std::make_unique<MalleablePool>(
      MalleablePool::Options{.name = "test", .capacity = capacity, .when_empty = when_empty});
}

inline void WaitSettled(const MalleablePool& pool) {
  while (!pool.Settled()) std::this_thread::yield();
}

inline void WaitUntil(const std::atomic<int>& value, int least) {
  while (value.load() < least) std::this_thread::yield();
}

// False if it does not hold for a minute: what would hang fails.
template <typename Condition>
bool HoldsInTime(Condition holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Resizes at random from `threads` threads for as long as it lives.
class Resizers {
 public:
  Resizers(MalleablePool* pool, int threads, uint64_t seed) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back(
          [this, pool, random = Random(seed).Derive(std::to_string(i))]() mutable {
            const auto sizes = static_cast<uint64_t>(pool->Capacity()) + 1;
            while (!stop_.load(std::memory_order_relaxed)) {
              pool->Resize(static_cast<int>(random.Below(sizes)));
              resizes_.fetch_add(1, std::memory_order_relaxed);
              std::this_thread::yield();
            }
          });
    }
  }
  // A stress test goes on until this holds, or it might be over before the first resize.
  bool ResizedOften() const { return resizes_.load(std::memory_order_relaxed) >= 300; }
  ~Resizers() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> resizes_{0};
  std::vector<std::thread> threads_;
};

}  // namespace cosched
