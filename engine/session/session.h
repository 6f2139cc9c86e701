#pragma once
// Runs a graph, with TensorFlow's face plus what TensorFlow lacks: Resize, at any time, from any
// thread, while Run is in flight (Libutti et al. 2020). Called by workloads. One Run at a time;
// Resize, AtNode, NodesStarted, Settled and Pools from any
// thread.

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/graph/graph.h"
#include "engine/kernels/kernel.h"
#include "engine/pool/thread_pools.h"
#include "engine/session/node_time.h"

namespace cosched {

struct SessionOptions {
  // TF's names: the most threads of each pool, fixed for the session's life.
  int inter_op_parallelism_threads = 1;
  int intra_op_parallelism_threads = 1;
  // Work is divided for the most threads, so results do not depend on how many are active. False:
  // for those that there are when a run begins (rounded up to a power of two; paused: the most),
  // which costs few of them less where the most are many. Results then differ in their last bits;
  // each number of threads has kernels of its own, made when it is first there; and constants are
  // kept in their plain layout, too.
  bool deterministic = true;
  // Null: pools of its own, of the sizes above. Else these, which other sessions may use at the
  // same time, each for one Run; their capacity counts, and the sizes and binding here do not. The
  // session outlives them: their workers may still hold loops of its executor.
  ThreadPools* pools = nullptr;
  ThreadPools::Binding binding = ThreadPools::Binding::kNone;
  const Topology* topology = nullptr;  // Needed for Binding::kEachToItsCore.
  Waiting waiting = {};                // How threads without work wait, where pools are its own.
  KernelBackend backend = KernelBackend::kFast;
  // About how long one thread takes for a piece of a long op (engine/kernels/pieces.h), which
  // bounds the time until a resize takes effect inside one; 0: ops are never cut. Another value
  // rounds sums in another order.
  std::chrono::microseconds piece_time = kPieceTime;
  // By which kernels choose between algorithms and cut their work; another value may round
  // differently, too.
  KernelRates rates = {};
  // Only one list of fetches will be run: weights that a kernel keeps in a layout of its own are
  // not kept in the plain one, too (as far as the graph lets go of them: Graph::ReleaseConstants).
  bool one_list_of_fetches = false;
};

using Feeds =
    std::vector<std::pair<std::string, Tensor>>;  // Placeholder name -> value of exactly its shape.

class Session {
 public:
  // REQUIRES: graph.Build() has succeeded; the graph outlives the session. Variables start with
  // their initial values, unbound pools at their capacity; bound ones wait for the first Resize.
  Session(const Graph& graph, SessionOptions options);
  ~Session();

  // Runs what the fetches need and returns their values, in order (copies: later runs do not change
  // them). A fetch is "name" or "name:output"; a NoOp or ApplyMomentum fetched for its effect gives
  // an empty tensor or the new value. Throws InputError for an unknown name, a missing feed or a
  // wrong shape. The first call with a new list of fetches prepares kernels; later calls with the
  // same list reuse them.
  std::vector<Tensor> Run(const Feeds& feeds, const std::vector<std::string>& fetches);

  // The same run on one inter-op worker with the intra-op helpers, node after node, without queue
  // and executor: what the kernels alone take, which no order of the nodes can beat where a node
  // uses all threads. For benchmarks. REQUIRES: no Resize meanwhile.
  std::vector<NodeTime> RunInOrder(const Feeds& feeds, const std::vector<std::string>& fetches);

  // How many of the nodes that these fetches need could run at once on average, by their estimated
  // costs: 1 for a chain.
  double GraphWidth(const std::vector<std::string>& fetches);

  // Moves both pools to these cores with this split, or changes a part of what is wanted; takes
  // effect inside running ops. The same as Pools().Resize.
  void Resize(const CpuSet& cores, Split split);
  void Resize(const ResizeRequest& request);
  bool Settled() const;
  // Resizes when the session's count-th node starts, counted over all runs (malleable TensorFlow's
  // trigger in its first form: a counter of ScheduleReady calls); at the next node if that one has
  // started already. May be called several times.
  void AtNode(int64_t count, const ResizeRequest& request);
  int64_t NodesStarted() const;
  int64_t PiecesRun() const;  // All nodes' pieces, and those of constants packed before the first.

  Tensor Variable(const std::string& name) const;  // A copy. REQUIRES: no Run in flight.
  void SetVariable(const std::string& name, const Tensor& value);
  std::vector<std::string> VariableNames() const;
  // FNV-1a over all variables in name order: equal hashes = bit-identical weights.
  uint64_t VariablesHash() const;

  ThreadPools& Pools();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
