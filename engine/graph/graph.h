#pragma once
// A TF-style dataflow graph: named nodes with TF's op names. Add nodes (usually through
// GraphBuilder), then Build() once. Immutable and thread-safe after Build().

#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/node.h"

namespace cosched {

class Graph {
 public:
  // The name must be unique, or empty: then op name + counter. Infers the output shapes from the
  // inputs at once, so that later nodes and gradients can ask for them. Throws InputError naming
  // the node for an unknown op, a wrong number of inputs, a missing or bad attribute, or shapes
  // that do not fit.
  NodeId Add(std::string op, std::string name, std::vector<Output> inputs,
             std::map<std::string, Attribute> attributes = {},
             std::vector<NodeId> control_inputs = {});

  void SetTurn(NodeId id, int turn) { nodes_[static_cast<size_t>(id)].turn = turn; }

  // The base itself, or base + "_1", "_2", … : the first that no node has.
  std::string UniqueName(const std::string& base);

  // Validates the whole graph (one writer a variable, readers of its old value can run first) and
  // freezes it.
  void Build();
  bool IsBuilt() const { return built_; }
  // Lets go of the values of constants, for the one session that has been made of the graph: no
  // other can be. REQUIRES: Build() has succeeded.
  void ReleaseConstants();

  int Size() const { return static_cast<int>(nodes_.size()); }
  const Node& At(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const std::vector<Node>& Nodes() const { return nodes_; }
  NodeId Find(std::string_view name) const;  // -1 if there is none.
  const OutputInfo& Info(Output output) const {
    return At(output.node).outputs[static_cast<size_t>(output.index)];
  }

 private:
  std::vector<Node> nodes_;
  std::map<std::string, NodeId, std::less<>> by_name_;
  std::map<std::string, int> names_tried_;
  bool built_ = false;
};

}  // namespace cosched
