#pragma once
// Which tasks of a run may start now, and which of them first: cheap ones at once, by whoever made
// them ready; of the expensive ones that with the costliest path to the end of the run, offered to
// as many workers as there are. A task given back in its middle goes before all others. Pure
// bookkeeping: no threads, no kernels, no allocation after construction. Not thread-safe; the
// executor holds a lock.

#include <vector>

#include "engine/session/task_graph.h"

namespace cosched {

// A task from one of its pieces on.
struct TaskAtPiece {
  int task = -1;
  int piece = 0;
  friend bool operator==(const TaskAtPiece&, const TaskAtPiece&) = default;
};

class ReadyQueue {
 public:
  // REQUIRES: the graph is sealed and outlives the queue.
  explicit ReadyQueue(const TaskGraph* graph);

  // A new run: nothing has finished. `brief`: see NearlyDone.
  void Start(double brief = 0);
  // What to run next, now its caller's; task -1 if none is ready.
  TaskAtPiece Take();
  // The piece is to be run next, by whoever takes it. REQUIRES: taken and not finished.
  void GiveBack(TaskAtPiece rest);
  // REQUIRES: taken and not finished. What waited only for it becomes ready.
  void Finish(int task);
  void Abort();  // Nothing more becomes ready in this run.

  bool HasReady() const { return !given_back_.empty() || !cheap_.empty() || !expensive_.empty(); }
  // Each is worth one more worker.
  int Offered() const { return static_cast<int>(given_back_.size() + expensive_.size()); }
  // Whether a task was taken whose path to the end of the run costs less than `brief`; of a chain,
  // that no more is left to be done. From the start if that holds for all tasks.
  bool NearlyDone() const { return nearly_done_; }
  // Every task has finished; after Abort(), nobody has one.
  bool Done() const { return running_ == 0 && (aborted_ || unfinished_ == 0); }

 private:
  void Push(int task);

  const TaskGraph* graph_;
  std::vector<TaskAtPiece> given_back_;  // A stack, as `cheap_`.
  std::vector<int> pending_;             // By task: predecessors that have not finished.
  std::vector<int> cheap_;               // A stack: what was just made ready still is in the cache.
  std::vector<int> expensive_;           // Ranks, as a heap with the lowest on top.
  int running_ = 0;
  int unfinished_ = 0;
  double brief_ = 0;
  bool nearly_done_ = false;
  int long_left_ = 0;  // Tasks not begun whose paths are not brief.
  bool aborted_ = false;
};

}  // namespace cosched
