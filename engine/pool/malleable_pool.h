#pragma once
// A thread pool whose number of active workers changes at any time, from any thread, also while its
// loops run (malleable TensorFlow, Libutti et al. 2020). A thread is made when a Resize first wants
// it; later the surplus is parked, each on a futex of its own, so that waking one never makes another
// runnable.
//
// Called by the executor (Schedule, OnSurplusWorker), by kernels through the oneDNN and Eigen
// adapters (ParallelFor, Schedule) and by ThreadPools (Resize). Every method may be called from any
// thread unless it says otherwise.
//
//   Grow: a parked worker wakes and joins loops that are already running.
//   Shrink: a surplus worker leaves after its task; what it had not begun is taken by the others.
//   Pause: so does a worker that has called a loop of another pool; it sleeps in the middle of it
//   until its pool has workers again, and then goes on, also if it is not one of them.
//
// A loop's tasks are fixed by its caller; the number of workers decides only who runs them, so
// results do not depend on it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/pool/function_ref.h"
#include "engine/pool/work_record.h"

namespace cosched {

class BinaryEvent;
class Topology;

class MalleablePool {
 public:
  // What Schedule() does with a closure while no worker is active.
  enum class WhenEmpty {
    kQueue,        // keep it until a worker is active again (the inter-op pool: paused)
    kRunInCaller,  // run it at once in the caller, and let the last leaving worker finish the queue
                   // first (the intra-op pool: an Eigen caller blocks on its closures, so they must
                   // never be stranded)
  };

  struct Options {
    std::string name;  // Thread names are "<name>/<index>", set when a worker is first active
    int capacity = 1;  // The most threads; may be 0. Resize never exceeds it.
    WhenEmpty when_empty = WhenEmpty::kQueue;
    const Topology* topology = nullptr;  // Binds workers; null = never binds
    // While a worker has nothing to do here it takes part in the loops of that pool, whose capacity
    // is at least 1 (see SetGuests); null = it doesn't. Outlives this pool.
    MalleablePool* lends_to = nullptr;
    std::chrono::nanoseconds spin = kSpin;  // How long who has no work looks for some.
    std::span<WorkRecord> records = {};     // Where workers tell of their waiting; see Waiting.
  };

  explicit MalleablePool(Options options);  // No worker is active until Resize.
  // Waits for running tasks; closures still queued are dropped. REQUIRES: no loop runs.
  ~MalleablePool();
  MalleablePool(const MalleablePool&) = delete;
  MalleablePool& operator=(const MalleablePool&) = delete;

  int Capacity() const;
  int Target() const;  // Workers wanted by the last Resize.
  // Workers in their place now, working or waiting for work; equals Target() once settled.
  int Active() const;

  // Makes the threads that a Resize with these arguments needs and that are not there yet. Throws
  // ThreadError if the kernel refuses; those that were made stay, asleep.
  void Prepare(int workers, const std::vector<int>& cpus = {});

  // Wants `workers` active workers (clamped to 0..capacity) and returns at once, or when the threads
  // are made that were never wanted before, which takes some 50 us each. Worker i is bound
  // to cpus[i] where given (-1 or beyond the end: left as it is). Concurrent calls take effect in
  // some order, whole. Throws what Prepare throws, before anything has changed.
  void Resize(int workers, const std::vector<int>& cpus = {});
  // Workers that a Resize wants awake and nobody has woken yet. Must be posted, once; the pool is
  // not settled before.
  class Wakeups {
   public:
    void Add(const Wakeups& other);
    // Wakes the one bound to the calling thread's core last: it may take this core at once and keep
    // it, and those woken after it would wait for the scheduler's next tick (4 ms at 250 Hz).
    void Post();

   private:
    friend class MalleablePool;
    struct Sleeper {
      BinaryEvent* event;
      int cpu;  // -1 = any.
    };
    std::vector<Sleeper> sleepers_;
  };
  // Resize up to the waking, for a caller that has more to do before it can afford to lose its
  // core.
  [[nodiscard]] Wakeups BeginResize(int workers, const std::vector<int>& cpus = {});
  // True when threads and target agree: every surplus worker has parked and every wanted one has
  // woken.
  bool Settled() const;
  // Called (by a pool thread or the resizing one) each time the pool becomes settled after a
  // Resize, with the time since that Resize; `grew` if it wanted more workers than the Resize
  // before. A Resize that the next one overtakes is not reported. Must be quick, must not call back
  // into the pool except Settled(), which others may see true a moment earlier. Set before the
  // first Resize.
  void OnSettled(std::function<void(std::chrono::nanoseconds since_resize, bool grew)> callback);

  // Runs body(0) … body(tasks-1), each exactly once, on the caller and on every active worker that
  // is free; returns when all are done. The caller always takes part, so it works with no active
  // worker. May be nested and concurrent.
  void ParallelFor(int tasks, FunctionRef<void(int)> body);

  // Workers that another pool lends may join a loop here while fewer than `limit` others work in
  // it, its caller left out. 0 at first.
  void SetGuests(int limit);

  // Queues one closure, FIFO. See WhenEmpty.
  void Schedule(std::function<void()> closure);

  // Runs the oldest queued closure in the calling thread; false if there was none. For callers that
  // would otherwise only wait for closures of theirs.
  bool RunOne();
  int Queued() const;  // Closures not begun.
  int Idle() const;  // Active workers that have nothing to do; by the time it is told, others may.

  // True if the calling thread is a worker of this pool that should leave: a long closure asks
  // between its steps, reschedules the rest of its work and returns. False on threads that are not
  // this pool's.
  bool OnSurplusWorker() const;
  // How long the calling thread has slept in the middle of loops that it called, while its pool was
  // paused: what measures a closure's time leaves that out.
  static std::chrono::nanoseconds TimeHeld();
  // Index of the calling worker in this pool, or -1.
  int CurrentWorker() const;
  // What the calling worker does, shown to others until its closure ends; nothing on a thread that
  // is not this pool's. The string outlives the pool. A relaxed store: cheap enough for every node.
  void SetActivity(const std::string* what);
  // What the worker with the highest index shows of those that show something; null if none does.
  const std::string* Activity() const;
  // Kernel thread ids of the workers that have a thread, by index.
  std::vector<int> ThreadIds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
