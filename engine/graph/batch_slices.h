#pragma once
// Large batches, a few images at a time: what a network computes for one slice of the batch stays
// in the cache from one node to the next, while a whole batch of activations goes through memory
// for each. Called for inference graphs, where images don't depend on each other.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace cosched {

struct BatchSlicing {
  // What a node of one slice may read and write, about a core's second-level cache: not more where
  // threads share it, since all of them but one may be taken away. A slice is one image at least.
  int64_t bytes = 1 << 20;
  // So many threads share the work of a node, so many slices are computed side by side (at least,
  // if the batch is large enough, and a slice has some operations to do: with less of them its
  // nodes cost more than threads can win. Nodes that threads may share have some images, too).
  int intra = 1, inter = 1;
  double least_flops = 4e6;
};

// The graph, with the part of it that works image by image repeated for each slice of the batch and
// all else as it is; for each of its placeholders of images. Kernels and constants are shared by
// the slices. REQUIRES: no variables; fetches that the graph has; not built.
Graph SliceBatches(Graph graph, const std::vector<std::string>& fetches,
                   const BatchSlicing& slicing);

}  // namespace cosched
