#include "engine/graph/rewriter.h"

#include <algorithm>
#include <utility>

namespace cosched {
namespace {

constexpr size_t kSeveral = 2;

}  // namespace

GraphRewriter::GraphRewriter(const Graph& graph, const std::vector<Output>& fetches)
    : nodes_(graph.Nodes()), uses_(nodes_.size()) {
  // A fetch counts as uses by the fetched node itself, which are never taken back.
  for (const Output& fetch : fetches) Count(fetch, kSeveral, fetch.node, /*used=*/true);
  CountInputs({}, /*used=*/true);
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
  Node before;
  before.id = id;
  before.control_inputs = node.control_inputs;
  before.inputs = std::exchange(node.inputs, std::move(inputs));
  node.op = std::move(op);
  node.attributes = std::move(attributes);
  if (!IsNeeded(id)) return;
  CountInputs(node, /*used=*/true);  // First, so that what is read as before stays needed.
  CountInputs(before, /*used=*/false);
}

void GraphRewriter::CountInputs(const Node& node, bool used) {
  CountEdges(node, used);
  while (!changed_.empty()) {
    const NodeId next = changed_.back();
    changed_.pop_back();
    CountEdges(At(next), used);
  }
}

void GraphRewriter::CountEdges(const Node& node, bool used) {
  for (const Output& input : node.inputs) Count(input, 1, node.id, used);
  for (NodeId control : node.control_inputs) Count({control, 0}, kSeveral, node.id, used);
}

void GraphRewriter::Count(Output output, size_t uses, NodeId user, bool used) {
  std::vector<NodeId>& users = UsesOf(output.node).users;
  const bool was_needed = !users.empty();
  const size_t times = output.index == 0 ? uses : kSeveral;
  if (used) {
    users.insert(users.end(), times, user);
  } else {
    for (size_t i = 0; i < times; ++i) users.erase(std::find(users.begin(), users.end(), user));
  }
  if (output.index > 0) UsesOf(output.node).of_others += used ? 1 : -1;
  if (users.empty() == was_needed) changed_.push_back(output.node);
}

void GraphRewriter::Emit(Graph* result) const {
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
    if (IsNeeded(node.id) && node.op == "Const") emit(node);
  }
  for (const Node& node : nodes_) {
    if (IsNeeded(node.id) && node.op != "Const") emit(node);
  }
}

}  // namespace cosched
