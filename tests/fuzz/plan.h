#pragma once
// The memory plan that a session would make of a graph, without kernels, which take libraries that
// a fuzz target is better without. For model_fuzzer.cc.

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/fetch.h"
#include "engine/graph/ops.h"
#include "engine/session/memory_plan.h"
#include "engine/session/task_graph.h"
#include "engine/session/value_plan.h"

namespace cosched {

// Stands in for the kernels' table (engine/kernels/kernel.cc).
bool HasKernel(std::string_view op) { return !IsSource(op) && op != "Reshape" && op != "NoOp"; }

// Bytes of all buffers. REQUIRES: the graph is built.
inline size_t PlannedBytes(const Graph& graph, const std::vector<std::string>& fetches) {
  std::vector<Output> outputs;
  for (const std::string& fetch : fetches) outputs.push_back(ParseFetch(graph, fetch));
  TaskGraph tasks;
  std::vector<int> task_of(static_cast<size_t>(graph.Size()), -1);
  std::vector<const Node*> nodes;
  for (const Node& node : graph.Nodes()) {
    if (IsSource(node.op)) continue;
    task_of[static_cast<size_t>(node.id)] = tasks.Add(/*cheap=*/false, /*cost=*/1);
    nodes.push_back(&node);
  }
  const auto add = [&](NodeId before, NodeId after) {
    const int from = task_of[static_cast<size_t>(before)];
    if (from != -1) tasks.AddEdge(from, task_of[static_cast<size_t>(after)]);
  };
  for (const Node* node : nodes) {
    for (const Output& input : node->inputs) add(input.node, node->id);
    for (const NodeId control : node->control_inputs) add(control, node->id);
  }
  tasks.Seal();
  const ValuePlan values = PlanValues(graph, nodes, task_of, tasks, outputs, /*in_place=*/true);
  const MemoryPlan plan = PlanMemory(tasks, values.values, {});
  return std::accumulate(plan.buffer_bytes.begin(), plan.buffer_bytes.end(), size_t{0});
}

}  // namespace cosched
