#pragma once
// A model by name, of ours or from a file, built for inference at one batch size, with its inputs
// and outputs as its file has them. Called by `cosched model`. Single-threaded.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/readers/model_file.h"

namespace cosched {

struct OpenedNetwork {
  std::string format;  // "cosched", "ONNX opset 13", "GraphDef".
  std::unique_ptr<Graph> graph;
  std::vector<ModelFile::Interface> inputs;
  std::vector<ModelFile::Built> outputs;
  int64_t parameters = 0;  // Trainable.
  // The file, whose weights the graph shares; null for a model of ours.
  std::shared_ptr<const ModelFile> file;
};

// batch 0: the file's own, or 1. Throws InputError. The graph is not built yet.
OpenedNetwork OpenNetwork(const std::string& model, int64_t batch);

// Multiply-accumulates of a node: of convolutions and matrix products, 0 for others.
int64_t MultiplyAccumulates(const Graph& graph, const Node& node);

}  // namespace cosched
