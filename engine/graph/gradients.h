#pragma once
// Reverse-mode differentiation inside the graph: adds, for every op between xs and the loss, the
// nodes that compute its gradient, and an AddN where a value is used more than once. Only gradients
// that some x needs are added. Called by GraphBuilder::Gradients.

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace cosched {

// Returns d loss / d x for each x; node -1 where the loss does not depend on it. New nodes are
// named
// "<prefix>/<node>_grad/<op>". Throws InputError naming the node that has no gradient.
std::vector<Output> AddGradients(Graph* graph, Output loss, const std::vector<Output>& xs,
                                 const std::string& prefix);

}  // namespace cosched
