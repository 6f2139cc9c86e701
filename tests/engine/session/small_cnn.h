#pragma once
// A CNN small enough to be trained within a test, with every op that a real one has: batch norm, a
// residual branch, both pools, bias, a dense layer.

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/graph/graph_builder.h"
#include "engine/session/session.h"

namespace cosched {

inline Tensor RandomTensor(const Shape& shape, double deviation, Random* random) {
  Tensor tensor(shape);
  for (int64_t i = 0; i < tensor.Elements(); ++i) {
    tensor.Floats()[i] = static_cast<float>(random->Normal(0, deviation));
  }
  return tensor;
}

inline Tensor Filled(const Shape& shape, float value) {
  Tensor tensor(shape);
  std::fill_n(tensor.Floats(), tensor.Elements(), value);
  return tensor;
}

inline Tensor RandomLabels(int64_t count, int64_t classes, Random* random) {
  Tensor tensor({count}, DataType::kInt32);
  for (int64_t i = 0; i < count; ++i) {
    tensor.Ints()[i] = static_cast<int32_t>(random->Below(static_cast<uint64_t>(classes)));
  }
  return tensor;
}

// Fetches: "train" (a NoOp), the loss and the gradient of each trainable variable.
struct SmallCnn {
  static constexpr int64_t kBatch = 8, kSize = 12, kClasses = 5;

  Graph graph;
  std::string loss;
  std::vector<std::string> variables;
  std::vector<std::string> gradients;  // As fetches "node:output".

  SmallCnn() {
    GraphBuilder builder(&graph);
    Random random(1);
    const Output images = builder.Placeholder("images", {kBatch, kSize, kSize, 3});
    const Output labels = builder.Placeholder("labels", {kBatch}, DataType::kInt32);
    const auto weights = [&](const std::string& name, const Shape& shape) {
      return builder.Variable(name, RandomTensor(shape, 0.3, &random));
    };
    Output x = builder.Conv2D(images, weights("conv1", {3, 3, 3, 8}), 1, Padding::kSame);
    x = builder.BatchNorm(x, builder.Variable("scale", Filled({8}, 1)),
                          builder.Variable("offset", Filled({8}, 0.1f)),
                          builder.UntrainableVariable("mean", Filled({8}, 0)),
                          builder.UntrainableVariable("variance", Filled({8}, 1)), true);
    x = builder.Relu(x);
    const Output left = builder.Conv2D(x, weights("left", {3, 3, 8, 8}), 1, Padding::kSame);
    const Output right = builder.Conv2D(x, weights("right", {1, 1, 8, 8}), 1, Padding::kSame);
    x = builder.AddV2(builder.AddV2(left, right), x);
    x = builder.MaxPool(x, 2, 2, Padding::kValid);
    x = builder.Conv2D(x, weights("conv2", {3, 3, 8, 16}), 2, Padding::kSame);
    x = builder.Relu(builder.BiasAdd(x, builder.Variable("bias", Filled({16}, 0.1f))));
    x = builder.GlobalAveragePool(builder.AvgPool(x, 2, 1, Padding::kSame));
    x = builder.MatMul(builder.Reshape(x, {kBatch, 16}), weights("dense", {16, kClasses}));
    const NodeId entropy = builder.SparseSoftmaxCrossEntropyWithLogits(x, labels);
    const Output mean = builder.MeanAll({entropy, 0});
    loss = graph.At(mean.node).name;
    const std::vector<Output> of = builder.Gradients(mean, builder.TrainableVariables());
    for (size_t i = 0; i < of.size(); ++i) {
      variables.push_back(graph.At(builder.TrainableVariables()[i].node).name);
      gradients.push_back(graph.At(of[i].node).name + ":" + std::to_string(of[i].index));
    }
    builder.ApplyMomentum(builder.TrainableVariables(), of, 0.05f, 0.9f, 1e-4f, "train");
    graph.Build();
  }

  static Feeds Batch(uint64_t seed) {
    Random random(seed);
    Tensor images = RandomTensor({kBatch, kSize, kSize, 3}, 1, &random);
    return {{"images", std::move(images)}, {"labels", RandomLabels(kBatch, kClasses, &random)}};
  }
};

}  // namespace cosched
