#pragma once
// What inter x intra is worth for a model on this machine, and how near split = "auto" comes to the
// best: every split in one session that is resized between repetitions, so that all are measured in
// turns. Called by `cosched bench engine --split-grid`. Not thread-safe; it wants the machine for
// itself.

#include <string>
#include <vector>

#include "workloads/engine_benchmark.h"

namespace cosched {

// In the words of its publisher where it has one.
struct SplitSpeed {
  std::string setting;  // "fixed", "auto", "tensorflow" or "intel".
  Split split;
  std::vector<double> step_seconds;  // By repetition, the mean of its steps.
};

// Powers of two up to the cell's cores, and what AutoSplit chooses. Beside them sessions with the
// settings that TensorFlow (both pools as large as the machine, threads not bound) and Intel (inter
// = sockets, intra = cores of a socket) publish. cell.split is not used.
std::vector<SplitSpeed> MeasureSplits(const EngineCell& cell, const Topology& topology,
                                      const EngineBenchmarkOptions& options);

}  // namespace cosched
