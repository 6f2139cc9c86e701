#pragma once
// Everything that one list of fetches needs to run again and again without allocating: the nodes it
// reaches, their order, kernels, and output tensors in shared buffers. Built by the session on
// first use of the list, for each way to divide it.

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/kernels/kernel.h"
#include "engine/session/cost.h"
#include "engine/session/kernel_store.h"
#include "engine/session/node_time.h"
#include "engine/session/ready_queue.h"
#include "engine/session/task_graph.h"

namespace cosched {

struct MemoryPlan;
struct ValuePlan;

// What all plans of a session share; only one of them runs at a time.
struct SessionStore {
  const Graph& graph;
  ThreadPools& pools;
  std::chrono::microseconds piece_time;
  KernelRates rates;
  std::vector<std::pair<NodeId, NodeId>> write_order;  // (reader, writer)
  std::vector<Tensor> sources;  // By node: current value of Placeholder, Const, VariableV2.
  KernelStore kernels;
  std::vector<Tensor> buffers;  // Memory for outputs.
};

class FetchPlan {
 public:
  // Slices of a batch that threads could compute side by side have buffers of their own. One thread
  // computes them in turn, and where they share one's buffers it finds these in its cache.
  enum class Slices { kSideBySide, kInTurn };
  struct Dividing {
    Slices slices = Slices::kSideBySide;
    int threads = 0;  // As KernelSpec::threads.

    auto operator<=>(const Dividing&) const = default;
  };

  // Throws InputError for a fetch that the graph does not have. The store outlives the plan.
  FetchPlan(SessionStore* store, const std::vector<std::string>& fetches, const Dividing& dividing);
  FetchPlan(const FetchPlan&) = delete;
  FetchPlan& operator=(const FetchPlan&) = delete;

  const std::vector<NodeId>& Placeholders() const { return placeholders_; }  // All must be fed.
  // What kernels keep of constants is packed before the first run, as one task in pieces like those
  // of a run. Null where nothing is left to be packed.
  ReadyQueue* Packing() { return packed_ < packing_.size() ? packing_queue_.get() : nullptr; }
  bool PackPiece(int piece);  // Whether there is another.
  void UpdateViews();         // After feeding, before the run.
  ReadyQueue& Queue() { return *queue_; }
  const TaskGraph& Tasks() const { return tasks_; }
  bool IsBrief() const { return cost_ < kBriefCost; }  // Some tens of microseconds in all.
  bool RunPiece(TaskAtPiece next);                     // Whether the task has another piece.
  std::vector<NodeTime> RunInOrder();  // All of every task, one after the other, here and now.
  std::vector<Tensor> FetchCopies() const;
  // Sets, by node, whose tensors in the store a run reads: kernels keep constants of their own.
  void AddReads(std::vector<bool>* read) const;

 private:
  struct Step {
    const Node* node = nullptr;
    Kernel* kernel = nullptr;  // Null for views and NoOp.
    std::vector<const Tensor*> inputs;
    std::vector<Tensor> outputs;
  };
  struct PackingPiece {
    Kernel* kernel;
    int piece;
  };
  struct View {  // The view of a placeholder, whose buffer is another in each run.
    Step* step;
    const Tensor* source;
    int64_t first;  // Element.
  };

  void AddSteps(const std::vector<Output>& fetches);
  void AddEdges(Slices slices);
  void FindKernels(int threads);
  void AssignBuffers(const std::vector<Output>& fetches);
  void RequireMemory(const ValuePlan& values, const MemoryPlan& memory) const;
  void Connect(const std::vector<Output>& fetches);
  void OrderPacking();

  Step& StepOf(NodeId node) {
    return steps_[static_cast<size_t>(task_of_[static_cast<size_t>(node)])];
  }
  bool Computes(const Node& node) const;
  const Tensor* TensorOf(Output output);
  std::vector<OutputInfo> InputInfos(const Node& node) const;
  std::vector<const Tensor*> Constants(const Node& node) const;  // By input.

  SessionStore& store_;
  std::vector<int> task_of_;  // By node; -1 where it is not part of the run or is a source.
  std::vector<Step> steps_;   // By task.
  std::vector<NodeId> placeholders_;
  std::vector<View> views_;
  std::vector<const Tensor*> fetched_;  // Null: an op without outputs.
  std::vector<NodeId> fetched_nodes_;
  double cost_ = 0;                    // Estimated, of all tasks.
  std::vector<PackingPiece> packing_;  // Pieces of kernels that keep constants, the largest first.
  size_t packed_ = 0;                  // How many of these are done.
  TaskGraph tasks_, packing_task_;
  std::unique_ptr<ReadyQueue> queue_, packing_queue_;
};

}  // namespace cosched
