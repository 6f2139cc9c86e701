#pragma once
// The op table: for every op of ops.md how many inputs it takes, its attributes and which outputs
// follow from them. Called by Graph when a node is added, by the write order and by the session's
// plan. Immutable.

#include <optional>
#include <string_view>
#include <vector>

#include "engine/graph/node.h"

namespace cosched {

class Inference;

enum class AttributeKind { kInt, kInts, kFloat, kBool, kString, kTensor };

struct AttributeRule {
  std::string_view name;
  AttributeKind kind;
  std::optional<Attribute> otherwise;  // Filled in where the node lacks it; none = required.
};

struct OpDefinition {
  static constexpr int kAnyNumber = 1 << 30;

  std::string_view name;
  int min_inputs = 0;
  int max_inputs = 0;
  std::vector<AttributeRule> attributes;
  std::vector<OutputInfo> (*infer)(const Inference&) = nullptr;
  // Inputs that the op overwrites; each must be a VariableV2. Output 0 is then the first one's new
  // value, in place.
  std::vector<int> writes;
};

const OpDefinition* FindOp(std::string_view name);  // Null if there is none.
const std::vector<OpDefinition>& Ops();

// True for ops whose value exists before a run starts: Placeholder, Const, VariableV2.
bool IsSource(std::string_view op);

// Checks the node against the table, fills in optional attributes and outputs. `producers` are the
// nodes that its inputs come from, in order. Throws InputError naming the node.
void InferNode(Node* node, const std::vector<const Node*>& producers);

}  // namespace cosched
