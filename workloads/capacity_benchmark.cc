#include "workloads/capacity_benchmark.h"

#include <chrono>
#include <string_view>

namespace cosched {
namespace {

// As in the graph before its batch was cut into slices.
std::string NameInBatch(const std::string& name) { return name.substr(0, name.rfind("/slice")); }

void AddTimes(const std::vector<NodeTime>& times, double runs, double CapacityCost::Node::*sum,
              std::map<std::string, CapacityCost::Node>* nodes) {
  for (const NodeTime& time : times) {
    CapacityCost::Node& node = (*nodes)[NameInBatch(time.node->name)];
    node.op = time.node->op;
    node.*sum += std::chrono::duration<double>(time.time).count() / runs;
  }
}

double StepSeconds(EngineRun* run, double seconds) {
  const EngineTurn turn = RunFor(seconds, [run] { run->Step(); });
  return turn.seconds / static_cast<double>(turn.steps);
}

}  // namespace

CapacityCost MeasureCapacity(const EngineCell& cell, Split capacity, const Topology& topology,
                             const EngineBenchmarkOptions& options) {
  EngineCell larger = cell;
  larger.capacity = capacity;
  EngineRun own(cell, topology), large(larger, topology);
  CapacityCost cost;
  for (int i = 0; i < options.repetitions; ++i) {
    // Each is first in every other turn: what one leaves in the caches is the other's loss.
    for (const bool is_own : {i % 2 == 0, i % 2 != 0}) {
      (is_own ? cost.own_step_seconds : cost.step_seconds)
          .push_back(StepSeconds(is_own ? &own : &large, options.seconds));
    }
    if (!options.kernels) continue;
    AddTimes(own.StepInOrder(), options.repetitions, &CapacityCost::Node::own_seconds, &cost.nodes);
    AddTimes(large.StepInOrder(), options.repetitions, &CapacityCost::Node::seconds, &cost.nodes);
  }
  return cost;
}

}  // namespace cosched
