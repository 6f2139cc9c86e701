#pragma once
// Waiting for what takes less time than a futex round trip: the pool's lock, and a bounded look for
// work or for the last task. Used by malleable_pool.cc only.

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstddef>

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

inline void RelaxCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True as soon as done() is; false when the time is up. Lets others have the core about once a
// microsecond: where all cores have a worker, the caller of a run that has just ended waits for one
// of them (LeNet-5, batch 8 on 2 cores: 97,000 images/s instead of 78,000).
template <typename Predicate>
bool SpinUntil(Predicate done) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      RelaxCpu();
    }

    sched_yield();
  } while (std::chrono::steady_clock::now() < end);
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
