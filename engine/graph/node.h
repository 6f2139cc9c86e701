#pragma once
// One node of a dataflow graph: TF op name, inputs, attributes and, once added to a graph,
// output shapes. Plain data.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/graph/tensor.h"

namespace cosched {

using NodeId = int;

// One output of one node.
struct Output {
  NodeId node = -1;
  int index = 0;
  friend auto operator<=>(const Output&, const Output&) = default;
};

// Attribute values, named as in TF: "strides" and "ksize" = {height, width}, "padding" = "SAME" |
// "VALID" | "EXPLICIT", "epsilon", …
using Attribute = std::variant<int64_t, float, bool, std::string, std::vector<int64_t>, Tensor>;

struct OutputInfo {
  Shape shape;
  DataType type = DataType::kFloat;
};

struct Node {
  NodeId id = -1;
  std::string name;  // Unique in the graph.
  std::string op;    // TF's op name, e.g. "Conv2D".
  std::vector<Output> inputs;
  std::vector<NodeId> control_inputs;
  std::map<std::string, Attribute> attributes;
  std::vector<OutputInfo> outputs;  // Filled by Graph::Add().
  // A batch slice's place among the slices, from 1 on; 0: part of none. Of nodes that could
  // run, those of the lowest turn go first. Nodes of a turn don't depend on those of a later one.
  int turn = 0;
};

// Typed access; CHECK-fails if the attribute is missing or of another type (op definitions are
// validated by Build()).
template <typename T>
const T& GetAttribute(const Node& node, const std::string& name);
template <typename T>
T GetAttributeOr(const Node& node, const std::string& name, T otherwise);

}  // namespace cosched
