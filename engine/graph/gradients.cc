#include "engine/graph/gradients.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/graph/op_gradients.h"
#include "engine/graph/shape_inference.h"

namespace cosched {
namespace {

class Differentiation {
 public:
  Differentiation(Graph* graph, const std::vector<Output>& xs, std::string prefix)
      : graph_(*graph), xs_(xs), prefix_(std::move(prefix)) {}

  std::vector<Output> Run(Output loss) {
    const Node& last = graph_.At(loss.node);
    if (graph_.Info(loss).shape.Rank() != 0) {
      FailNode(last, "has shape " + graph_.Info(loss).shape.ToString() + ", cannot be a loss",
               "a scalar");
    }
    MarkDependents();
    const NodeId one = graph_.Add("Const", graph_.UniqueName(prefix_ + "/" + last.name + "_one"),
                                  {}, {{"value", Tensor::Scalar(1)}});
    contributions_[loss] = {Output{one, 0}};
    for (NodeId id = loss.node; id >= 0; --id) Visit(id);
    std::vector<Output> result;
    for (const Output& x : xs_) {
      const auto found = gradients_.find(x);
      result.push_back(found == gradients_.end() ? Output{} : found->second);
    }
    return result;
  }

 private:
  // depends_[n]: an input of node n is one of xs or depends on one, so the gradient must pass
  // through n.
  void MarkDependents() {
    depends_.assign(static_cast<size_t>(graph_.Size()), false);
    for (const Node& node : graph_.Nodes()) {
      depends_[static_cast<size_t>(node.id)] = std::any_of(
          node.inputs.begin(), node.inputs.end(), [this](Output input) { return IsNeeded(input); });
    }
  }

  bool IsX(Output output) const { return std::find(xs_.begin(), xs_.end(), output) != xs_.end(); }
  bool IsNeeded(Output output) const {
    return depends_[static_cast<size_t>(output.node)] || IsX(output);
  }

  // All users of the node come later in the graph and have been visited: its gradient is complete.
  void Visit(NodeId id) {
    const Node node = graph_.At(id);  // A copy: adding nodes moves the graph's.
    std::vector<Output> incoming(node.outputs.size());
    bool reached = false;
    for (size_t i = 0; i < incoming.size(); ++i) {
      const Output output{id, static_cast<int>(i)};
      if (!IsNeeded(output)) continue;
      incoming[i] = Sum(node, output);
      if (incoming[i].node == -1) continue;
      reached = true;
      if (IsX(output)) gradients_.emplace(output, incoming[i]);
    }
    if (!reached || !depends_[static_cast<size_t>(id)]) return;
    std::vector<bool> needed;
    for (const Output& input : node.inputs) needed.push_back(IsNeeded(input));
    const std::vector<Output> gradients =
        OpGradients({graph_, node, incoming, needed, prefix_ + "/" + node.name + "_grad/"});
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].node != -1) contributions_[node.inputs[i]].push_back(gradients[i]);
    }
  }

  Output Sum(const Node& node, Output output) {
    const auto found = contributions_.find(output);
    if (found == contributions_.end()) return {};
    if (found->second.size() == 1) return found->second.front();
    const std::string name = graph_.UniqueName(prefix_ + "/" + node.name + "_grad/AddN");
    return {graph_.Add("AddN", name, found->second), 0};
  }

  Graph& graph_;
  const std::vector<Output>& xs_;
  const std::string prefix_;
  std::vector<bool> depends_;
  std::map<Output, std::vector<Output>> contributions_;  // d loss / d output, one for each use.
  std::map<Output, Output> gradients_;                   // By x.
};

}  // namespace

std::vector<Output> AddGradients(Graph* graph, Output loss, const std::vector<Output>& xs,
                                 const std::string& prefix) {
  return Differentiation(graph, xs, prefix).Run(loss);
}

}  // namespace cosched
