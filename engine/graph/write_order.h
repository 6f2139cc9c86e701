#pragma once
// Ops that write a variable (AssignMovingAverage, ApplyMomentum) must run after every other node of
// the step that reads it, whatever order the graph's edges leave open. Graph::Build checks that
// this is possible, the session's plan obeys.

#include <utility>
#include <vector>

#include "engine/graph/graph.h"

namespace cosched {

// All (reader, writer) pairs that no data edge implies by itself; a Reshape of a variable reads
// nothing, its readers do. Throws InputError if two nodes write one variable.
std::vector<std::pair<NodeId, NodeId>> WriteOrder(const Graph& graph);

// Throws InputError naming a node if the graph's edges and its write order together form a cycle: a
// reader of the old value that needs the new one first.
void CheckWriteOrder(const Graph& graph);

}  // namespace cosched
