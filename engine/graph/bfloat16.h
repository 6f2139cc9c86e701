#pragma once
// A graph of floats with its images in bfloat16, for training or inference: from the first
// convolution on, what is as large as an image has half the bytes and products take half the time.
// Variables, statistics, products of matrices, losses and updates stay floats, so a training step
// rounds activations and their gradients alone. (Kalamkar et al. 2019, "A study of bfloat16 for
// deep learning training".) Called by workloads before they make a session; the optimiser of
// inference graphs comes first. Pure.

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace cosched {

// Adds all of `graph`, with Casts where types meet, to `result`, an empty graph. Nodes keep their
// names; what `fetches` name stays a float: where it would not, the node is renamed
// "<name>/bfloat16" and a Cast has its name. Throws InputError for a fetch that the graph does not
// have. Does not build the result.
void ConvertToBFloat16(const Graph& graph, const std::vector<std::string>& fetches, Graph* result);

}  // namespace cosched
