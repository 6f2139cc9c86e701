#pragma once
// The CNN programs that tenants run. A model is one .cc in workloads/models/ without a header: a
// function that adds the network to a graph, named in the table of workloads/model.cc (greppable,
// listed by `cosched list models`).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/graph/graph_builder.h"

namespace cosched {

struct ModelInfo {
  std::string_view name;     // As in an experiment file, e.g. "resnet20".
  std::string_view summary;  // One line.
  Shape image;               // {height, width, channels} of one input image.
  int classes = 10;
  int64_t parameters = 0;      // Trainable; checked by a test.
  float learning_rate = 0.1f;  // Defaults of a training job.
  float momentum = 0.9f;
  float weight_decay = 0.0f;
  // Adds the network from images [N,H,W,C] to logits [N,classes]. Initial weights come from the
  // seed alone.
  Output (*build)(GraphBuilder& builder, Output images, bool training, uint64_t seed) = nullptr;
};

std::span<const ModelInfo> Models();
const ModelInfo* FindModel(std::string_view name);  // nullptr if there is none.

}  // namespace cosched
