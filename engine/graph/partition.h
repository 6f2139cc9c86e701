#pragma once
// Cuts the graph of a network for inference into parts that follow each other: each takes one tensor
// and gives one to the next. Called by whoever makes a network the stages of a pipeline
// (engine/gates/graph_stage.h). Pure.

#include <functional>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace cosched {

// What is fed to a network of a graph, and what is fetched of it.
struct NetworkEnds {
  std::string input;  // A placeholder.
  std::string fetch;  // "node" or "node:output"
};

struct GraphPart {
  Graph graph;                        // Built.
  std::vector<NetworkEnds> networks;  // Its part of each, in the order of the whole.
};

// Of a node by what it reads, in any unit: engine/session's EstimateCost.
using NodeCost = std::function<double(const Node& node, const std::vector<OutputInfo>& inputs)>;

// The graph may hold the network several times, for several batch sizes: all are cut at the same
// points, so that a batch can go through the parts at any of these sizes. Points are those where all
// paths from the input to the fetch go through one tensor, a row of which is of one image: its first
// dimension is the input's. The costliest part of the result costs as little as it can, where all
// networks count. The input of a part is named after the node whose value it is. Constants share the
// buffers of the graph's; what several parts read is in each of them.
//
// A large batch that is computed in slices (engine/graph/batch_slices.h) can't be cut inside them, nor
// between nodes of bfloat16: slice and convert the parts.
//
// Throws InputError, with what is allowed, for fewer parts than one or more than the points allow;
// for an input that is no placeholder, a fetch that does not follow from it, or that needs another
// placeholder, too; and for networks that differ in more than their batch.
// REQUIRES: nothing that is fetched writes a variable; one network at least.
std::vector<GraphPart> PartitionGraph(const Graph& graph, const std::vector<NetworkEnds>& networks,
                                      int parts, const NodeCost& cost);

// How many parts it can be cut into at most. Throws as PartitionGraph.
int MostParts(const Graph& graph, const std::vector<NetworkEnds>& networks);

}  // namespace cosched
