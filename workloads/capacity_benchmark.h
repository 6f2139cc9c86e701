#pragma once
// What it costs to be able to grow: a session of some capacity on fewer cores, beside one whose
// capacity is just these, in turns. Called by `cosched bench engine --capacity`. Not thread-safe;
// it wants the machine for itself.

#include <map>
#include <string>
#include <vector>

#include "workloads/engine_benchmark.h"

namespace cosched {

struct CapacityCost {
  // By repetition, the mean of its steps; those of one repetition follow each other.
  std::vector<double> step_seconds, own_step_seconds;
  // A node's time in a step, back to back with the others, all slices of a batch together (the two
  // may have other ones). Empty if not asked for.
  struct Node {
    std::string op;
    double seconds = 0, own_seconds = 0;
  };
  std::map<std::string, Node> nodes;
};

// The cost of the cell with this capacity; `own`: with its split as the capacity. Both sessions run
// on the cell's cores with its split. Throws InputError as ModelProgram does.
CapacityCost MeasureCapacity(const EngineCell& cell, Split capacity, const Topology& topology,
                             const EngineBenchmarkOptions& options);

}  // namespace cosched
