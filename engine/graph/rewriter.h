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

  // Its output 0 is read once, by a node that is still needed, and nothing else of it is used.
  bool HasOneUse(NodeId id) const { return uses_[static_cast<size_t>(id)].total == 1; }
  // REQUIRES: HasOneUse(id).
  const Node& User(NodeId id) { return At(uses_[static_cast<size_t>(id)].last); }
  bool UsesOtherOutputs(NodeId id) const { return uses_[static_cast<size_t>(id)].other; }
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
  struct Uses {
    int total = 0;  // Of output 0; other outputs, control edges and fetches count as several.
    bool other = false;
    NodeId last = -1;
  };
  void CountUses();
  std::vector<bool> Needed() const;

  std::vector<Node> nodes_;
  std::vector<Output> fetches_;
  std::vector<Uses> uses_;
};

}  // namespace cosched
