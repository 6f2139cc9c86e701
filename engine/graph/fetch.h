#pragma once
// Names of what a run gives back. Called by the session's plan and by the optimiser.

#include <string>

#include "engine/graph/graph.h"

namespace cosched {

// The node and output that a fetch names: "name" is output 0, or -1 for an op without outputs;
// "name:1" is output 1. Throws InputError if the graph does not have it.
Output ParseFetch(const Graph& graph, const std::string& fetch);

}  // namespace cosched
