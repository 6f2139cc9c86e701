#pragma once
// Waiting for what takes less time than a futex round trip: the pool's lock, and a bounded look for
// work or for the last task, whose CPU time is told. Used by the pool (malleable_pool_impl.h); the
// clock of a thread also by who does so much work and no less.

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "engine/pool/work_record.h"
#include "engine/pool/yield_request.h"

namespace cosched {

inline void RelaxCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline std::chrono::nanoseconds ThreadCpuTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Keeps the record of one compute thread, which alone calls it: whether it has work, how many tasks it
// has begun, and the CPU time that it spends without any, which is looking for work, going to sleep
// and waking up.
//
// Spinning is told in CPU time: a spinner may lose its core, so the time that passes may be
// others'. The kernel's clock of a thread is exact and takes half a microsecond, too much for a
// spin that finds work at once. So it is read only by a spin that lasts, and at its end only if
// that was in vain; all others are counted in turns as long as those of the spins that were
// measured.
class WorkMeter {
 public:
  static constexpr int kPauses = 64;    // Pauses of one turn, which ends with a look at the clock.
  static constexpr int kUnclocked = 2;  // Turns before a spin is one that lasts.

  void TellTo(WorkRecord* record) { record_ = record; }
  void SetWork(bool has_work) {
    record_->without_work.store(has_work ? 0 : 1, std::memory_order_relaxed);
  }
  void BeginTask() { record_->tasks.store(++tasks_, std::memory_order_relaxed); }
  // A spin that has found what it looked for after so many turns and pauses.
  void AddTurns(int turns, int pauses) { Add(turns * turn_ + pauses * turn_ / kPauses); }
  // A spin in vain: `turns` in all, and the thread's CPU time after the first kUnclocked of them.
  void AddSpin(int turns, std::chrono::nanoseconds from) {
    const int clocked = turns - kUnclocked;
    if (clocked <= 0) return AddTurns(turns, 0);
    const int64_t measured = (ThreadCpuTime() - from).count();
    // What disturbs a spin, such as a host that takes the core of a virtual machine, makes its
    // turns seem longer, by any factor: one spin moves what is taken for their length by little.
    turn_ = std::clamp(measured / clocked, int64_t{1}, turn_ + turn_ / 8);
    Add(measured + kUnclocked * turn_);
  }
  // Calls sleep(), which blocks until the thread is woken.
  template <typename Function>
  void Sleep(Function sleep) {
    const std::chrono::nanoseconds from = ThreadCpuTime();
    sleep();
    Add((ThreadCpuTime() - from).count());
  }

 private:
  void Add(int64_t nanoseconds) {
    std::atomic<int64_t>& sum = record_->spin_time;  // Nobody else writes it.
    sum.store(sum.load(std::memory_order_relaxed) + nanoseconds, std::memory_order_relaxed);
  }

  WorkRecord* record_ = nullptr;
  uint32_t tasks_ = 0;
  int64_t turn_ = 2000;  // CPU time of a turn, in ns; of today's processors until it is measured.
};

// Whom a spinner lets have its core.
enum class Yields {
  // Those that asked for it (yield_request.h), and nobody else. On crowded cores a yield gives a
  // whole turn of the scheduler's to another program, while the partner, which would be ready in a
  // microsecond, runs: it tears the threads of one loop apart and fills the caches with others'
  // data at each loop's end (six processes of two threads, ResNet-20: a task took 1.5 times its CPU
  // time).
  kOnRequest,
  kAlways,  // Anybody, once a turn: a thread of the same loop was seen on this core.
};

// Yields that a request is worth: the woken thread may take a moment to reach this core's queue.
class YieldsAsked {
 public:
  // A request is done with once somebody has had the core: on crowded cores each yield is a switch.
  void Yield() {
    const auto start = std::chrono::steady_clock::now();
    sched_yield();
    if (std::chrono::steady_clock::now() - start > kSwitch) left_ = 0;
  }
  bool TakeOne() {
    const uint32_t requests = yield_requests.load(std::memory_order_relaxed);
    if (requests != heard_) left_ = kYields;
    heard_ = requests;
    return left_ > 0 && left_-- > 0;
  }

 private:
  static constexpr int kYields = 4;
  static constexpr std::chrono::microseconds kSwitch{5};  // A yield to nobody takes half of one.

  uint32_t heard_ = 0;
  int left_ = 0;
};
inline thread_local constinit YieldsAsked yields_asked;

// True as soon as done() is; false when the time since `start`, which is now, is up. The meter is
// that of the calling thread; null if it is none of a pool.
template <typename Predicate>
bool SpinUntil(std::chrono::steady_clock::time_point start, std::chrono::nanoseconds spin,
               Yields yields, WorkMeter* meter, Predicate done) {
  if (spin.count() <= 0) return done();
  const auto end = start + spin;
  std::chrono::nanoseconds from{0};
  int turns = 0;
  do {
    for (int i = 0; i < WorkMeter::kPauses; ++i) {
      if (done()) {
        if (meter != nullptr) meter->AddTurns(turns, i);
        return true;
      }
      RelaxCpu();
    }
    if (yields_asked.TakeOne()) {
      yields_asked.Yield();
    } else if (yields == Yields::kAlways) {
      sched_yield();
    }
    if (++turns == WorkMeter::kUnclocked && meter != nullptr) from = ThreadCpuTime();
  } while (std::chrono::steady_clock::now() < end);
  if (meter != nullptr) meter->AddSpin(turns, from);
  return done();
}

// Spins a little before it sleeps: the pool's sections take some tens of nanoseconds, a futex round
// trip thousands.
class Mutex {
 public:
  void Lock() { pthread_mutex_lock(&mutex_); }
  void Unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

// Holds a mutex until its end, except between Unlock and Lock.
class MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) : mutex_(mutex) { Lock(); }
  ~MutexLock() {
    if (held_) Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Lock() {
    mutex_.Lock();
    held_ = true;
  }
  void Unlock() {
    held_ = false;
    mutex_.Unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = false;
};

}  // namespace cosched
