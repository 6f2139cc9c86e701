#pragma once
// Joins the ready queue to the inter-op pool: workers run loops that take a task, run it and see
// what became ready. A worker keeps nothing between two tasks, so one that should leave (malleable
// TensorFlow's CheckSleep in ScheduleReady) hands its loop to the others by scheduling it anew;
// with no worker left the loop waits in the pool and the run is paused.
//
// Called by the session. Run is for one thread at a time; Nudge from any.

#include <condition_variable>
#include <exception>
#include <mutex>

#include "engine/pool/function_ref.h"
#include "engine/pool/malleable_pool.h"
#include "engine/session/ready_queue.h"

namespace cosched {

class Executor {
 public:
  // REQUIRES: the pool keeps its closures while it has no worker, and is destroyed before the
  // executor: a loop may stay scheduled after its run and then serves the next one.
  explicit Executor(MalleablePool* pool) : pool_(*pool) {}

  // Runs every task of the queue on the pool's workers; the caller sleeps until all are done. If a
  // task throws, no further ones begin, and its exception is thrown here.
  void Run(ReadyQueue* queue, FunctionRef<void(int task)> run_task);

  // Offers what is ready to workers that have just been added, instead of after the tasks that are
  // running.
  void Nudge();

 private:
  void Loop();
  int ClaimLoops();  // With mutex_ held: how many more loops are worth scheduling.
  void ScheduleLoops(int count);

  MalleablePool& pool_;
  std::mutex mutex_;  // Guards all below.
  std::condition_variable done_;
  ReadyQueue* queue_ = nullptr;  // Null between runs.
  const FunctionRef<void(int)>* run_task_ = nullptr;
  std::exception_ptr error_;
  int loops_ = 0;  // Scheduled or running.
};

}  // namespace cosched
