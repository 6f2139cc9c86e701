#include "workloads/engine_benchmark.h"

#include <algorithm>
#include <chrono>

#include "engine/graph/flops.h"
#include "engine/kernels/machine_peak.h"
#include "engine/pool/run_on_worker.h"

namespace cosched {
namespace {

using Seconds = std::chrono::duration<double>;

double MeanSeconds(const EngineTurn& turn) {
  return turn.seconds / static_cast<double>(turn.steps);
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
  EngineRun run(cell, topology);
  EngineSpeed speed;
  speed.split = run.session().Pools().Wanted().split;
  for (const NodeTime& time : run.StepInOrder()) {
    speed.flops += FlopsOf(run.graph(), *time.node);
  }
  NodeSums sums;
  for (int i = 0; i < options.repetitions; ++i) {
    speed.step_seconds.push_back(MeanSeconds(RunFor(options.seconds, [&] { run.Step(); })));
    if (!options.kernels) continue;
    speed.kernels_seconds.push_back(
        MeanSeconds(RunFor(options.seconds, [&] { sums.Add(run.StepInOrder()); })));
  }
  speed.nodes = sums.Means(run.graph());
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
