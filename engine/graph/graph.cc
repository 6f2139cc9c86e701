#include "engine/graph/graph.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/graph/ops.h"
#include "engine/graph/shape_inference.h"
#include "engine/graph/write_order.h"

namespace cosched {

NodeId Graph::Add(std::string op, std::string name, std::vector<Output> inputs,
                  std::map<std::string, Attribute> attributes, std::vector<NodeId> control_inputs) {
  CHECK(!built_) << "graph is built already, cannot add " << name;
  Node node;
  node.id = Size();
  node.name = name.empty() ? UniqueName(op) : std::move(name);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.control_inputs = std::move(control_inputs);
  node.attributes = std::move(attributes);
  if (Find(node.name) != -1) FailNode(node, "the name is taken", "unique names");
  std::vector<const Node*> producers;
  for (const Output& input : node.inputs) {
    if (input.node < 0 || input.node >= Size()) {
      FailNode(node, "input " + std::to_string(input.node) + " does not exist");
    }
    producers.push_back(&At(input.node));
    if (input.index < 0 || input.index >= static_cast<int>(producers.back()->outputs.size())) {
      FailNode(node,
               "\"" + producers.back()->name + "\" has no output " + std::to_string(input.index));
    }
  }
  for (NodeId control : node.control_inputs) {
    if (control < 0 || control >= Size()) {
      FailNode(node, "control input " + std::to_string(control) + " does not exist");
    }
  }
  InferNode(&node, producers);
  by_name_.emplace(node.name, node.id);
  nodes_.push_back(std::move(node));
  return nodes_.back().id;
}

std::string Graph::UniqueName(const std::string& base) {
  int& taken = names_tried_[base];
  std::string name = taken == 0 ? base : base + "_" + std::to_string(taken);
  while (Find(name) != -1) name = base + "_" + std::to_string(++taken);
  return name;
}

// Add() accepts existing inputs only, so data and control edges cannot form a cycle; the write
// order can.
void Graph::Build() {
  CHECK(!built_) << "graph is built already";
  CheckWriteOrder(*this);
  built_ = true;
}

void Graph::ReleaseConstants() {
  CHECK(built_) << "the graph is not built yet";
  for (Node& node : nodes_) {
    if (node.op == "Const") node.attributes["value"] = Tensor();
  }
}

NodeId Graph::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

}  // namespace cosched
