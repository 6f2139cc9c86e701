#pragma once
// Which tasks of a run may start now, and which of them first: cheap ones at once, by whoever made
// them ready; of the expensive ones that with the costliest path to the end of the run, offered to
// as many workers as there are. Pure bookkeeping: no threads, no kernels, no allocation after
// construction. Not thread-safe; the executor holds a lock.

#include <vector>

#include "engine/session/task_graph.h"

namespace cosched {

class ReadyQueue {
 public:
  // REQUIRES: the graph is sealed and outlives the queue.
  explicit ReadyQueue(const TaskGraph* graph);

  void Start();  // A new run: nothing has finished.
  int Take();    // The task to run next, now its caller's; -1 if none is ready.
  void Finish(
      int task);  // REQUIRES: taken and not finished. What waited only for it becomes ready.
  void Abort();   // Nothing more becomes ready in this run.

  bool HasReady() const { return !cheap_.empty() || !expensive_.empty(); }
  int Offered() const {
    return static_cast<int>(expensive_.size());
  }  // Each is worth one more worker.
  // Every task has finished; after Abort(), every task that was taken.
  bool Done() const { return running_ == 0 && (aborted_ || unfinished_ == 0); }

 private:
  void Push(int task);

  const TaskGraph* graph_;
  std::vector<int> pending_;    // By task: predecessors that have not finished.
  std::vector<int> cheap_;      // A stack: what was just made ready still is in the cache.
  std::vector<int> expensive_;  // Ranks, as a heap with the lowest on top.
  int running_ = 0;
  int unfinished_ = 0;
  bool aborted_ = false;
};

}  // namespace cosched
