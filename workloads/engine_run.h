#pragma once
// A model loaded for one mode, batch size and set of cores, with images that are the same in every
// step: what the engine's benchmarks measure. Called by engine_benchmark and `cosched bench engine
// --interactive`. Not thread-safe; it wants the machine for itself.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/base/topology.h"
#include "engine/session/node_time.h"
#include "workloads/program.h"

namespace cosched {

struct EngineCell : ProgramSpec {
  CpuSet cores;
  Split split;  // With auto_split: the most; that which AutoSplit chooses at the start is taken.
  Split capacity = {0, 0};  // The most it could be resized to; less than the split: just that.
  bool bound = true;        // One thread a core, each bound to its own; else placed by the kernel.
};

class EngineRun {
 public:
  // Throws InputError as ModelProgram does. Some steps have been run: kernels and memory are there.
  EngineRun(const EngineCell& cell, const Topology& topology);

  const Graph& graph() const { return program_->graph(); }
  Session& session() { return program_->session(); }
  double GraphWidth() { return program_->session().GraphWidth(program_->fetches()); }

  // Steps until AutoSplit has chosen on the cores of the moment; the session keeps that split.
  Split ChooseSplit();

  void Step() { program_->session().Run(feeds_, program_->fetches()); }
  // The same kernels back to back.
  std::vector<NodeTime> StepInOrder() {
    return program_->session().RunInOrder(feeds_, program_->fetches());
  }

 private:
  std::unique_ptr<ModelProgram> program_;
  Feeds feeds_;
};

struct EngineTurn {
  int64_t steps = 0;
  double seconds = 0;
};

// Calls step() until so many seconds have passed; once at least.
template <typename Step>
EngineTurn RunFor(double seconds, Step step) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  EngineTurn turn;
  do {
    step();
    ++turn.steps;
    turn.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  } while (turn.seconds < seconds);
  return turn;
}

}  // namespace cosched
