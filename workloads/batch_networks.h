#pragma once
// A model's network for inference, once for each of a service's batch sizes (batch_sizes.h), in one
// graph that holds its weights once. Called by whoever answers requests with a model: the service,
// and the pipeline classify, which cuts it into parts. Single-threaded.

#include <cstddef>
#include <string>
#include <vector>

#include "engine/graph/batch_slices.h"
#include "engine/graph/graph.h"
#include "engine/graph/partition.h"
#include "workloads/model.h"
#include "workloads/program_spec.h"

namespace cosched {

struct BatchNetworks {
  Graph graph;                    // Optimised and built.
  std::vector<int> sizes;         // Ascending …
  std::vector<NetworkEnds> ends;  // … and of the network of each.

  size_t For(int requests) const;  // Which of them computes so many.
};

struct BatchNetworkSettings {
  std::string weights_file = {};  // See workloads/weights_file.h; "": initial ones, of the seed.
  BatchSlicing slicing = {};
};

// Of the program, its largest batch, seed and precision count. Throws InputError where the weights'
// file is bad or of another model. REQUIRES: a batch of 1 or more; a precision that this CPU has.
BatchNetworks MakeBatchNetworks(const ModelInfo& model, const ProgramSpec& program,
                                const BatchNetworkSettings& settings);

}  // namespace cosched
