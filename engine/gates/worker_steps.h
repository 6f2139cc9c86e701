#pragma once
// Runs one step after the other on whichever inter-op worker there is, while the calling lane sleeps.
// Between two steps a worker can be taken away: the next one then runs on another worker, or later.
// Used by the lanes of a Pipeline and of a RankWorker. Run is for one thread at a time.

#include "engine/pool/function_ref.h"
#include "engine/session/executor.h"
#include "engine/session/ready_queue.h"
#include "engine/session/task_graph.h"

namespace cosched {

class WorkerSteps {
 public:
  // REQUIRES: the pool is destroyed before this, as with any executor.
  explicit WorkerSteps(MalleablePool* pool);

  // Until `step` says that there is no other. Throws what it throws.
  void Run(FunctionRef<bool()> step);

 private:
  const TaskGraph graph_;
  Executor executor_;
  ReadyQueue queue_;
};

}  // namespace cosched
