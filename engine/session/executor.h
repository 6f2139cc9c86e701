#pragma once
// Joins the ready queue to the inter-op pool: workers run loops that take a task, run it piece by
// piece and see what became ready. A worker keeps nothing between two pieces, so one that should
// leave (malleable TensorFlow's CheckSleep in ScheduleReady, but inside a node too) gives the rest
// of its task back and hands its loop to the others by scheduling it anew; with no worker left the
// loop waits in the pool and the run is paused, in the middle of an op. Only a pause blocks a worker
// within a piece, after one of its tasks (MalleablePool).
//
// Called by the session. Run is for one thread at a time; the rest from any.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/pool/function_ref.h"
#include "engine/pool/malleable_pool.h"
#include "engine/session/ready_queue.h"

namespace cosched {

class Executor {
 public:
  // REQUIRES: the pool keeps its closures while it has no worker, and is destroyed before the
  // executor: a loop may stay scheduled after its run and then serves the next one.
  explicit Executor(MalleablePool* pool) : pool_(*pool) {}

  // What tasks are to AtTask and TasksStarted.
  enum class Kind { kCounted, kNotCounted };

  // Runs every task of the queue on the pool's workers; the caller sleeps until all are done.
  // run_piece runs one piece of a task and says whether there is another. If it throws, no further
  // task begins, and the exception is thrown here. brief: the cost of a path that takes no longer
  // than to put the caller to sleep and wake it; when no more is left it is woken, and looks for
  // the end for a while.
  void Run(ReadyQueue* queue, FunctionRef<bool(TaskAtPiece)> run_piece, double brief = 0,
           Kind kind = Kind::kCounted);

  // Offers what is ready to workers that have just been added, instead of after the tasks that are
  // running.
  void Nudge();

  // Calls `then` once, on the worker that is about to begin the count-th task since the executor
  // was made; at the next task if there have been as many already.
  void AtTask(int64_t count, std::function<void()> then);
  int64_t TasksStarted() const;
  int64_t PiecesRun() const { return pieces_run_.load(std::memory_order_relaxed); }  // Any piece.

 private:
  struct Trigger {
    int64_t count;
    std::function<void()> then;
  };

  void Loop();
  bool RunPieces(TaskAtPiece* next, std::exception_ptr* error);
  std::vector<std::function<void()>> CountTask();  // With mutex_ held: what is due.
  int ClaimLoops();  // With mutex_ held: how many more loops are worth scheduling.
  void ScheduleLoops(int count);
  void WakeCaller();

  MalleablePool& pool_;
  mutable std::mutex mutex_;            // Guards all below.
  std::condition_variable done_;        // Or nearly.
  std::atomic<bool> over_{false};       // Written with the lock, for who looks without it.
  std::atomic<int64_t> pieces_run_{0};  // Without it.
  ReadyQueue* queue_ = nullptr;         // Null between runs.
  const FunctionRef<bool(TaskAtPiece)>* run_piece_ = nullptr;
  std::exception_ptr error_;
  int loops_ = 0;  // Scheduled or running.
  Kind kind_ = Kind::kCounted;
  int64_t tasks_started_ = 0;
  std::vector<Trigger> triggers_;  // The next one last.
};

}  // namespace cosched
