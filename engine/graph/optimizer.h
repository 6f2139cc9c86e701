#pragma once
// Graph optimiser for inference: the same values from fewer passes over memory. Variables become
// constants, batch norms and scales are folded into the filters before them, a convolution or
// product, its bias, a residual sum and the activation become one node (_FusedConv2D, _FusedMatMul;
// TF's grappler has the same names), and so do layer norms and GELU that are written out; large
// batches are computed in slices. Called by workloads before they make a session. Pure.

#include <map>
#include <string>
#include <vector>

#include "engine/graph/batch_slices.h"
#include "engine/graph/graph.h"

namespace cosched {

// Adds to `result`, an empty graph, what `fetches` need of `graph`; placeholders and fetched nodes
// keep their names. `variables`: values by name, in place of initial ones. Constants share the
// buffers of what they were made from. Throws InputError for a fetch that the graph does not have.
// REQUIRES: nothing that is fetched writes a variable. Does not build the result.
void OptimizeForInference(const Graph& graph, const std::vector<std::string>& fetches,
                          const std::map<std::string, Tensor>& variables, Graph* result,
                          const BatchSlicing& slicing = {});

}  // namespace cosched
