#include "engine/gates/worker_steps.h"

namespace cosched {
namespace {

TaskGraph GraphOfOneTask() {
  TaskGraph graph;
  graph.Add(/*cheap=*/false, /*cost=*/1);
  graph.Seal();
  return graph;
}

}  // namespace

// Steps are the pieces of a task, as those of an op are, so that the same rules hold for both.
WorkerSteps::WorkerSteps(MalleablePool* pool)
    : graph_(GraphOfOneTask()), executor_(pool), queue_(&graph_) {}

void WorkerSteps::Run(FunctionRef<bool()> step) {
  executor_.Run(&queue_, [&](TaskAtPiece) { return step(); });
}

}  // namespace cosched
