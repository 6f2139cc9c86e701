#include "engine/graph/rewriter.h"

#include <utility>

namespace cosched {

GraphRewriter::GraphRewriter(const Graph& graph, const std::vector<Output>& fetches)
    : nodes_(graph.Nodes()), fetches_(fetches) {
  CountUses();
}

const Tensor* GraphRewriter::Constant(Output output) {
  const Node& node = At(output.node);
  return node.op == "Const" ? &std::get<Tensor>(node.attributes.at("value")) : nullptr;
}

Output GraphRewriter::AddConstant(const std::string& name, Tensor value) {
  Node node;
  node.id = Size();
  node.name = name;
  node.op = "Const";
  node.outputs = {{value.GetShape(), value.Type()}};
  node.attributes["value"] = std::move(value);
  nodes_.push_back(std::move(node));
  uses_.emplace_back();
  return {Size() - 1, 0};
}

void GraphRewriter::Become(NodeId id, std::string op, std::vector<Output> inputs,
                           std::map<std::string, Attribute> attributes) {
  Node& node = At(id);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  CountUses();
}

std::vector<bool> GraphRewriter::Needed() const {
  std::vector<bool> needed(nodes_.size(), false);
  std::vector<NodeId> open;
  const auto need = [&](NodeId id) {
    if (needed[static_cast<size_t>(id)]) return;
    needed[static_cast<size_t>(id)] = true;
    open.push_back(id);
  };
  for (const Output& fetch : fetches_) need(fetch.node);
  while (!open.empty()) {
    const Node& node = nodes_[static_cast<size_t>(open.back())];
    open.pop_back();
    for (const Output& input : node.inputs) need(input.node);
    for (NodeId control : node.control_inputs) need(control);
  }
  return needed;
}

void GraphRewriter::CountUses() {
  constexpr int kSeveral = 2;
  const std::vector<bool> needed = Needed();
  uses_.assign(nodes_.size(), {});
  const auto use = [this](Output output, int count, NodeId user) {
    Uses& uses = uses_[static_cast<size_t>(output.node)];
    uses.total += output.index == 0 ? count : kSeveral;
    uses.other = uses.other || output.index > 0;
    uses.last = user;
  };
  for (const Node& node : nodes_) {
    if (!needed[static_cast<size_t>(node.id)]) continue;
    for (const Output& input : node.inputs) use(input, 1, node.id);
    for (NodeId control : node.control_inputs) use({control, 0}, kSeveral, node.id);
  }
  for (const Output& fetch : fetches_) use(fetch, kSeveral, fetch.node);
}

void GraphRewriter::Emit(Graph* result) const {
  const std::vector<bool> needed = Needed();
  std::vector<NodeId> new_id(nodes_.size(), -1);
  const auto emit = [&](const Node& node) {
    std::vector<Output> inputs;
    for (const Output& input : node.inputs)
      inputs.push_back({new_id[static_cast<size_t>(input.node)], input.index});
    std::vector<NodeId> controls;
    for (NodeId control : node.control_inputs)
      controls.push_back(new_id[static_cast<size_t>(control)]);
    new_id[static_cast<size_t>(node.id)] =
        result->Add(node.op, result->UniqueName(node.name), inputs, node.attributes, controls);
  };
  // Constants first: those that were added have higher ids than their users. Names of other nodes
  // come before those of new constants.
  for (const Node& node : nodes_) {
    if (needed[static_cast<size_t>(node.id)] && node.op == "Const") emit(node);
  }
  for (const Node& node : nodes_) {
    if (needed[static_cast<size_t>(node.id)] && node.op != "Const") emit(node);
  }
}

}  // namespace cosched
