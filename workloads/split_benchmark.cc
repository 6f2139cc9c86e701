#include "workloads/split_benchmark.h"

#include <algorithm>
#include <set>
#include <utility>

#include "workloads/split_chooser.h"

namespace cosched {
namespace {

int Sockets(const CpuSet& cores, const Topology& topology) {
  std::set<int> packages;
  for (int cpu : cores) packages.insert(topology.Locate(cpu).package);
  return static_cast<int>(packages.size());
}

EngineCell WithSplit(EngineCell cell, Split split, bool bound) {
  cell.split = split;
  cell.bound = bound;
  return cell;
}

struct Contender {
  SplitSpeed speed;
  EngineRun* run;
};

// Once without counting.
void MeasureInTurns(const CpuSet& cores, const EngineBenchmarkOptions& options,
                    std::vector<Contender>* contenders) {
  for (int i = -1; i < options.repetitions; ++i) {
    for (auto& [speed, run] : *contenders) {
      run->session().Resize(cores, speed.split);
      run->Step();  // The run's threads come to their places.
      if (i < 0) continue;
      const EngineTurn turn = RunFor(options.seconds, [run = run] { run->Step(); });
      speed.step_seconds.push_back(turn.seconds / static_cast<double>(turn.steps));
    }
  }
}

}  // namespace

std::vector<SplitSpeed> MeasureSplits(const EngineCell& cell, const Topology& topology,
                                      const EngineBenchmarkOptions& options) {
  const int cores = cell.cores.Count();
  const Split all = {cores, cores};
  const int sockets = Sockets(cell.cores, topology);
  const Split socket = {sockets, std::max(1, cores / sockets)};
  EngineRun malleable(WithSplit(cell, all, true), topology);
  EngineRun tensorflow(WithSplit(cell, all, false), topology);
  EngineRun intel(WithSplit(cell, socket, true), topology);
  std::vector<Contender> contenders;
  for (int inter : PowersUpTo(cores)) {
    for (int intra : PowersUpTo(cores)) {
      contenders.push_back({{"fixed", {inter, intra}, {}}, &malleable});
    }
  }
  contenders.push_back({{"auto", malleable.ChooseSplit(), {}}, &malleable});
  contenders.push_back({{"tensorflow", all, {}}, &tensorflow});
  contenders.push_back({{"intel", socket, {}}, &intel});
  MeasureInTurns(cell.cores, options, &contenders);
  std::vector<SplitSpeed> speeds;
  for (Contender& contender : contenders) speeds.push_back(std::move(contender.speed));
  return speeds;
}

}  // namespace cosched
