#include "workloads/engine_benchmark.h"

#include <algorithm>
#include <chrono>

#include "engine/base/random.h"
#include "engine/graph/flops.h"
#include "engine/kernels/machine_peak.h"
#include "engine/pool/run_on_worker.h"

namespace cosched {
namespace {

using std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

SessionOptions BoundSession(Split split, const Topology& topology) {
  SessionOptions options;
  options.inter_op_parallelism_threads = split.inter;
  options.intra_op_parallelism_threads = split.intra;
  options.binding = ThreadPools::Binding::kEachToItsCore;
  options.topology = &topology;
  return options;
}

Feeds RandomBatch(const ModelInfo& model, Mode mode, int batch) {
  Tensor images({batch, model.image[0], model.image[1], model.image[2]});
  Random random(1);
  for (int64_t i = 0; i < images.Elements(); ++i) {
    images.Floats()[i] = static_cast<float>(random.Uniform(-1, 1));
  }
  Feeds feeds = {{ModelProgram::kImages, images}};
  if (mode == Mode::kTrain) {
    Tensor labels({batch}, DataType::kInt32);
    for (int i = 0; i < batch; ++i) labels.Ints()[i] = i % model.classes;
    feeds.emplace_back(ModelProgram::kLabels, labels);
  }
  return feeds;
}

// The mean time of a call, over `seconds` or one call.
template <typename Call>
double MeanSeconds(double seconds, Call call) {
  const auto start = steady_clock::now();
  Seconds elapsed{0};
  int calls = 0;
  do {
    call();
    ++calls;
    elapsed = steady_clock::now() - start;
  } while (elapsed.count() < seconds);
  return elapsed.count() / calls;
}

double FlopsOf(const Graph& graph, const Node& node) {
  std::vector<OutputInfo> inputs;
  for (const Output& input : node.inputs) inputs.push_back(graph.Info(input));
  return Flops(node, inputs);
}

// Sums of node times over many runs.
class NodeSums {
 public:
  void Add(const std::vector<NodeTime>& times) {
    sums_.resize(times.size());
    for (size_t i = 0; i < times.size(); ++i) {
      sums_[i].node = times[i].node;
      sums_[i].time += times[i].time;
    }
    ++runs_;
  }
  std::vector<NodeSpeed> Means(const Graph& graph) const {
    std::vector<NodeSpeed> nodes;
    for (const NodeTime& sum : sums_) {
      nodes.push_back({.name = sum.node->name,
                       .op = sum.node->op,
                       .seconds = Seconds(sum.time).count() / runs_,
                       .flops = FlopsOf(graph, *sum.node)});
    }
    return nodes;
  }

 private:
  std::vector<NodeTime> sums_;
  int runs_ = 0;
};

}  // namespace

EngineSpeed MeasureEngine(const EngineCell& cell, const Topology& topology,
                          const EngineBenchmarkOptions& options) {
  const std::shared_ptr<const ModelInfo> model = OpenModel(cell.model);
  ModelProgram program(
      *model,
      {.mode = cell.mode, .batch = cell.batch, .session = BoundSession(cell.split, topology)});
  Session& session = program.session();
  session.Resize(cell.cores, cell.split);
  const Feeds feeds = RandomBatch(*model, cell.mode, cell.batch);
  const auto step = [&] { session.Run(feeds, program.fetches()); };
  step();  // Creates the kernels, and touches all memory.
  step();
  EngineSpeed speed;
  for (const NodeTime& time : session.RunInOrder(feeds, program.fetches())) {
    speed.flops += FlopsOf(program.graph(), *time.node);
  }
  NodeSums sums;
  for (int i = 0; i < options.repetitions; ++i) {
    speed.step_seconds.push_back(MeanSeconds(options.seconds, step));
    if (!options.kernels) continue;
    speed.kernels_seconds.push_back(MeanSeconds(
        options.seconds, [&] { sums.Add(session.RunInOrder(feeds, program.fetches())); }));
  }
  speed.nodes = sums.Means(program.graph());
  return speed;
}

double MeasurePeak(const CpuSet& cores, int threads, const Topology& topology, double seconds) {
  const Split split = DefaultSplit(threads);
  ThreadPools pools(split, ThreadPools::Binding::kEachToItsCore, &topology);
  pools.Resize(cores, split);
  double peak = 0;
  RunOnWorker(&pools.inter(), [&] { peak = MeasurePeakFlops(pools, Seconds(seconds)); });
  return peak;
}

}  // namespace cosched
