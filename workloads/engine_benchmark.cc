#include "workloads/engine_benchmark.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "engine/graph/flops.h"
#include "engine/kernels/machine_peak.h"
#include "engine/pool/run_on_worker.h"
#include "workloads/auto_split.h"

namespace cosched {
namespace {

using Seconds = std::chrono::duration<double>;

double MeanSeconds(const Turn& turn) { return turn.seconds / static_cast<double>(turn.steps); }

double FlopsOf(const Graph& graph, const Node& node) {
  std::vector<OutputInfo> inputs;
  for (const Output& input : node.inputs) inputs.push_back(graph.Info(input));
  return Flops(node, inputs);
}

int Sockets(const CpuSet& cores, const Topology& topology) {
  std::set<int> packages;
  for (int cpu : cores) packages.insert(topology.Locate(cpu).package);
  return static_cast<int>(packages.size());
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

std::vector<SplitSpeed> MeasureSplits(const EngineCell& cell, const Topology& topology,
                                      const EngineBenchmarkOptions& options) {
  const std::shared_ptr<const ModelInfo> model = OpenModel(cell.model);
  const Feeds feeds = RandomBatch(*model, cell.mode, cell.batch);
  const int cores = cell.cores.Count();
  const auto open = [&](const SessionOptions& session) {
    auto program = std::make_unique<ModelProgram>(
        *model, ProgramSettings{.mode = cell.mode, .batch = cell.batch, .session = session});
    program->session().Resize(
        cell.cores, {session.inter_op_parallelism_threads, session.intra_op_parallelism_threads});
    return program;
  };
  const std::unique_ptr<ModelProgram> malleable = open(BoundSession({cores, cores}, topology));
  SessionOptions unbound;
  unbound.inter_op_parallelism_threads = unbound.intra_op_parallelism_threads = cores;
  const std::unique_ptr<ModelProgram> tensorflow = open(unbound);
  const int sockets = Sockets(cell.cores, topology);
  const Split intel_split = {sockets, std::max(1, cores / sockets)};
  const std::unique_ptr<ModelProgram> intel = open(BoundSession(intel_split, topology));

  AutoSplit choice(&malleable->session(), malleable->session().GraphWidth(malleable->fetches()));
  while (!choice.Settled()) {
    choice.BeginStep();
    malleable->session().Run(feeds, malleable->fetches());
    choice.EndStep();
  }
  struct Setting {
    SplitSpeed speed;
    ModelProgram* program;
  };
  std::vector<Setting> settings;
  for (int inter : PowersUpTo(cores)) {
    for (int intra : PowersUpTo(cores))
      settings.push_back({{"fixed", {inter, intra}, {}}, malleable.get()});
  }
  settings.push_back({{"auto", choice.Chosen(), {}}, malleable.get()});
  settings.push_back({{"tensorflow", {cores, cores}, {}}, tensorflow.get()});
  settings.push_back({{"intel", intel_split, {}}, intel.get()});
  for (int i = -1; i < options.repetitions; ++i) {
    for (Setting& setting : settings) {
      ModelProgram& program = *setting.program;
      program.session().Resize(cell.cores, setting.speed.split);
      const auto step = [&] { program.session().Run(feeds, program.fetches()); };
      step();  // Its threads come to their places.
      if (i < 0) continue;
      setting.speed.step_seconds.push_back(MeanSeconds(options.seconds, step));
    }
  }
  std::vector<SplitSpeed> speeds;
  for (Setting& setting : settings) speeds.push_back(std::move(setting.speed));
  return speeds;
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
