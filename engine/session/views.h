#pragma once
// Nodes whose output is memory of their input: nothing is computed and nothing is allocated. A
// Reshape of anything, and a Slice of whole items (images) of what is fed. Pure; called by the
// fetch plan.

#include "engine/graph/graph.h"

namespace cosched {

bool IsView(const Graph& graph, const Node& node);
// Where the output lies: itself, or what the views before it begin with.
Output BufferOwner(const Graph& graph, Output output);
// The first element of its input that the view shows. REQUIRES: IsView.
int64_t FirstElement(const Graph& graph, const Node& view);

}  // namespace cosched
