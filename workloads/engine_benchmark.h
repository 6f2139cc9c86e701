#pragma once
// How fast the engine runs a model, and what limits it: images a second; the same step's kernels
// run back to back; and where their time goes, node by node. Called by `cosched bench engine`, one
// cell in a process of its own, and by tests. Not thread-safe; it wants the machine for itself.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "workloads/engine_run.h"

namespace cosched {

struct EngineBenchmarkOptions {
  int repetitions = 5;
  double seconds = 1;   // The length of each repetition; at least one step.
  bool kernels = true;  // Whether to run them back to back, too.
};

struct NodeSpeed {
  std::string name, op;
  double seconds = 0;  // Mean over all its runs, back to back with the others.
  double flops = 0;    // Operations of convolutions and matrix products (engine/graph/flops.h).
};

struct EngineSpeed {
  Split split;                          // The cell's, or what was chosen.
  std::vector<double> step_seconds;     // By repetition, the mean of its steps.
  std::vector<double> kernels_seconds;  // The same back to back; empty if not asked for.
  std::vector<NodeSpeed> nodes;         // In the order of that run; empty if not asked for.
  double flops = 0;                     // Operations of a step.
};

// Repetitions of whole steps and of kernels alone take turns, so that a noisy machine disturbs both
// alike. Images are random and the same in every step. Throws InputError as ModelProgram does.
EngineSpeed MeasureEngine(const EngineCell& cell, const Topology& topology,
                          const EngineBenchmarkOptions& options);

// The peak of so many threads on these cores, for about `seconds` (engine/kernels/machine_peak.h).
double MeasurePeak(const CpuSet& cores, int threads, const Topology& topology, double seconds);

}  // namespace cosched
