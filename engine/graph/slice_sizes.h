#pragma once
// How many images at a time each node of a sliced batch computes. Called by SliceBatches. Pure.
//
// A core's cache is shared by what a node reads and writes of the images and by its weights. Where
// images are large, in a network's first layers, few of them at a time stay in the cache from one
// node to the next. Where weights are larger than the cache, in its last layers, every slice
// fetches all of them again, and a slice of more images fetches them less often.

#include <cstdint>
#include <vector>

namespace cosched {

// One node of the part that is sliced, in the graph's order. Bytes.
struct SlicedNode {
  int64_t images = 0;   // What the node reads and writes for each image.
  int64_t weights = 0;  // The node's constants.
  // Results for each image, of this node and of those before, that nodes behind it read. They are
  // joined, which is to be copied, if the size changes behind it.
  int64_t carried = 0;
};

struct SliceLimits {
  int64_t cache = 1 << 20;      // Bytes that a slice may find in a core's cache.
  int64_t batch = 1;            // Images in all.
  int64_t least = 1, most = 1;  // Images of a slice. REQUIRES: least divides the batch.
};

// By node: never falls from one node to the next, and each divides the next and the batch. Of all
// such, those with which the fewest bytes are fetched from beyond the cache.
std::vector<int64_t> SliceSizes(const std::vector<SlicedNode>& nodes, const SliceLimits& limits);

}  // namespace cosched
