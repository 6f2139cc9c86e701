#include "engine/pool/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace cosched {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel sees the bare word");

void FutexWait(const std::atomic<uint32_t>* word, uint32_t expected,
               std::chrono::nanoseconds timeout) {
  timespec limit{};
  if (timeout.count() >= 0) {
    limit.tv_sec = static_cast<time_t>(timeout.count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(timeout.count() % 1'000'000'000);
  }
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout.count() < 0 ? nullptr : &limit,
          nullptr, 0);
}

void FutexWake(const std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void FutexWakeAll(const std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void BinaryEvent::Wait() {
  uint32_t expected = kEmpty;
  if (word_.compare_exchange_strong(expected, kSleeping, std::memory_order_acquire)) {
    while (word_.load(std::memory_order_acquire) == kSleeping) FutexWait(&word_, kSleeping);
  }
  word_.store(kEmpty, std::memory_order_relaxed);
}

void BinaryEvent::Post() {
  if (word_.exchange(kPosted, std::memory_order_acq_rel) == kSleeping) FutexWake(&word_);
}

}  // namespace cosched
