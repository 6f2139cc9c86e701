#pragma once
// A graph while it is being rewritten: nodes change in place, what nobody uses any more is left out
// in the end. A node that stands for several takes the place of the last of them, so the order of
// the graph stays one in which it can be built. Called by the optimiser's passes (optimizer.cc).

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace cosched {

class GraphRewriter {
 public:
  // `fetches` are used from outside: their nodes keep names and values.
  GraphRewriter(const Graph& graph, const std::vector<Output>& fetches);

  int Size() const { return static_cast<int>(nodes_.size()); }
  // A reference is good until the next AddConstant.
  Node& At(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  const OutputInfo& Info(Output output) { return At(output.node).outputs[size_t(output.index)]; }

  // Output 0 of the node is read once, by one that is still needed, and nothing else of it is used.
  bool HasOneUse(NodeId id) const { return UsesOf(id).users.size() == 1; }
  // REQUIRES: HasOneUse(id).
  const Node& User(NodeId id) { return At(UsesOf(id).users.front()); }
  bool UsesOtherOutputs(NodeId id) const { return UsesOf(id).of_others > 0; }
  // The value, or null if the output is no Const.
  const Tensor* Constant(Output output);
  // A new Const; the name is made unique.
  Output AddConstant(const std::string& name, Tensor value);
  // Replaces what the node is and reads; it keeps its name, shapes and users.
  void Become(NodeId id, std::string op, std::vector<Output> inputs,
              std::map<std::string, Attribute> attributes);

  // Adds what the fetches need to an empty graph.
  void Emit(Graph* result) const;

 private:
  // Kept up to date as nodes change, since a graph may have tens of thousands of both.
  struct Uses {
    // Users of output 0, once a use by a needed node; other outputs, control edges and fetches
    // count as several. Empty: the node is not needed.
    std::vector<NodeId> users;
    int of_others = 0;  // Uses of outputs but the first.
  };
  Uses& UsesOf(NodeId id) { return uses_[static_cast<size_t>(id)]; }
  const Uses& UsesOf(NodeId id) const { return uses_[static_cast<size_t>(id)]; }
  bool IsNeeded(NodeId id) const { return !UsesOf(id).users.empty(); }
  // That the node reads its inputs counts from now on, or does not any more; so do those of nodes
  // that are needed, or not, because of it.
  void CountInputs(const Node& node, bool used);
  void CountEdges(const Node& node, bool used);
  void Count(Output output, size_t uses, NodeId user, bool used);

  std::vector<Node> nodes_;
  std::vector<Uses> uses_;
  std::vector<NodeId> changed_;  // Needed now, or no more: their inputs are to be counted.
};

}  // namespace cosched
