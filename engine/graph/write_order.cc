#include "engine/graph/write_order.h"

#include <algorithm>

#include "engine/graph/ops.h"
#include "engine/graph/shape_inference.h"

namespace cosched {
namespace {

// The node whose buffer the output shares: through Reshape to what it reshapes.
NodeId BufferOwner(const Graph& graph, Output output) {
  NodeId id = output.node;
  while (graph.At(id).op == "Reshape") id = graph.At(id).inputs[0].node;
  return id;
}

// writer[v] = the node that writes variable v, or -1.
std::vector<NodeId> Writers(const Graph& graph) {
  std::vector<NodeId> writer(static_cast<size_t>(graph.Size()), -1);
  for (const Node& node : graph.Nodes()) {
    for (int input : FindOp(node.op)->writes) {
      NodeId& of = writer[static_cast<size_t>(node.inputs[static_cast<size_t>(input)].node)];
      if (of != -1) {
        const NodeId variable = node.inputs[static_cast<size_t>(input)].node;
        FailNode(node,
                 "writes variable \"" + graph.At(variable).name + "\", as does \"" +
                     graph.At(of).name + "\"",
                 "one writer a variable");
      }
      of = node.id;
    }
  }
  return writer;
}

}  // namespace

std::vector<std::pair<NodeId, NodeId>> WriteOrder(const Graph& graph) {
  const std::vector<NodeId> writer = Writers(graph);
  std::vector<std::pair<NodeId, NodeId>> order;
  for (const Node& node : graph.Nodes()) {
    if (node.op == "Reshape") continue;
    for (const Output& input : node.inputs) {
      const NodeId writes = writer[static_cast<size_t>(BufferOwner(graph, input))];
      if (writes != -1 && writes != node.id) order.emplace_back(node.id, writes);
    }
  }
  std::sort(order.begin(), order.end());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  return order;
}

void CheckWriteOrder(const Graph& graph) {
  std::vector<std::vector<NodeId>> after(static_cast<size_t>(graph.Size()));
  std::vector<int> pending(static_cast<size_t>(graph.Size()), 0);
  const auto add = [&](NodeId before, NodeId node) {
    after[static_cast<size_t>(before)].push_back(node);
    ++pending[static_cast<size_t>(node)];
  };
  for (const auto& [reader, writer] : WriteOrder(graph)) add(reader, writer);
  for (const Node& node : graph.Nodes()) {
    for (const Output& input : node.inputs) add(input.node, node.id);
    for (NodeId control : node.control_inputs) add(control, node.id);
  }
  std::vector<NodeId> ready;
  for (const Node& node : graph.Nodes()) {
    if (pending[static_cast<size_t>(node.id)] == 0) ready.push_back(node.id);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    for (NodeId next : after[static_cast<size_t>(ready[i])]) {
      if (--pending[static_cast<size_t>(next)] == 0) ready.push_back(next);
    }
  }
  for (const Node& node : graph.Nodes()) {
    if (pending[static_cast<size_t>(node.id)] > 0 && !FindOp(node.op)->writes.empty()) {
      FailNode(node,
               "writes a variable whose old value is read by a node that depends on this one");
    }
  }
}

}  // namespace cosched
