#pragma once
// The CNN programs that tenants run. A model of ours is one .cc in workloads/models/ without a
// header: a function that adds the network to a graph, named in the table of workloads/model.cc
// (greppable, listed by `cosched list models`). Called by jobs, the configuration and the commands.
// Thread-safe; a ModelInfo never changes.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/graph/graph_builder.h"

namespace cosched {

struct ModelInfo {
  std::string name;     // As in an experiment file, e.g. "resnet20".
  std::string summary;  // One line.
  Shape image;          // {height, width, channels} of one input image.
  int classes = 10;
  int64_t parameters = 0;      // Trainable; checked by a test.
  float learning_rate = 0.1f;  // Defaults of a training job.
  float momentum = 0.9f;
  float weight_decay = 0.0f;
  // Adds the network from images [N,H,W,C] to logits [N,classes], or [N*H*W,classes] where it
  // predicts pixels. Initial weights come from the seed alone. Called again for the same graph
  // (another batch size, a scope of its own or none), it uses the variables that are there.
  std::function<Output(GraphBuilder& builder, Output images, bool training, uint64_t seed)> build;
};

// Whether OpenModel knows what such a name stands for.
bool IsModelName(std::string_view name);
// Throws InputError for an unknown name, listing those there are.
std::shared_ptr<const ModelInfo> OpenModel(const std::string& name);

std::span<const ModelInfo> Models();  // Our own, in the order of the list.
std::string ModelNames();             // "lenet5, resnet20, …", for messages.

}  // namespace cosched
