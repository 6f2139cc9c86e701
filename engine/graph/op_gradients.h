#pragma once
// The gradient of each op: which nodes to add for one node of the forward graph. Used by
// gradients.cc only.

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace cosched {

struct OpGradientRequest {
  Graph& graph;
  const Node& node;                     // The forward node.
  const std::vector<Output>& incoming;  // d loss / d its outputs; node -1 where there is none.
  const std::vector<bool>& needed;      // By input: whether its gradient is wanted.
  std::string prefix;                   // For the names of new nodes.
};

// d loss / d input, by input; node -1 where it was not needed or the op has none (labels, running
// statistics). Throws InputError if the op is not differentiable here.
std::vector<Output> OpGradients(const OpGradientRequest& request);

}  // namespace cosched
