#include "engine/session/views.h"

#include <algorithm>

namespace cosched {
namespace {

using Ints = std::vector<int64_t>;

bool TakesWholeItems(const Graph& graph, const Node& slice) {
  const Shape& input = graph.Info(slice.inputs[0]).shape;
  const Ints& size = GetAttribute<Ints>(slice, "size");
  return input.Rank() > 0 &&
         std::equal(size.begin() + 1, size.end(), input.Sizes().begin() + 1, input.Sizes().end());
}

}  // namespace

bool IsView(const Graph& graph, const Node& node) {
  if (node.op == "Reshape") return true;
  return node.op == "Slice" && TakesWholeItems(graph, node) &&
         graph.At(BufferOwner(graph, node.inputs[0]).node).op == "Placeholder";
}

Output BufferOwner(const Graph& graph, Output output) {
  while (IsView(graph, graph.At(output.node))) output = graph.At(output.node).inputs[0];
  return output;
}

int64_t FirstElement(const Graph& graph, const Node& view) {
  if (view.op == "Reshape") return 0;
  const Shape& input = graph.Info(view.inputs[0]).shape;
  return GetAttribute<Ints>(view, "begin")[0] * (input.Elements() / std::max<int64_t>(input[0], 1));
}

}  // namespace cosched
