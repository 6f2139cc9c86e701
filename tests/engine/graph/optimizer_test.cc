#include "engine/graph/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/graph/graph_builder.h"

namespace cosched {
namespace {

Tensor Values(const Shape& shape, uint64_t seed) {
  Random random(seed);
  Tensor tensor(shape);
  for (int64_t i = 0; i < tensor.Elements(); ++i)
    tensor.Floats()[i] = static_cast<float>(random.Uniform() + 0.5);
  return tensor;
}

struct Network {
  Graph graph;
  GraphBuilder builder{&graph};
  uint64_t seed = 1;

  Output Image(int64_t channels = 4) { return builder.Placeholder("x", {2, 5, 5, channels}); }
  Output Variable(const Shape& shape) {
    ++seed;
    return builder.Variable("v" + std::to_string(seed), Values(shape, seed));
  }
  Output Conv(Output x, int64_t filters) {
    const int64_t channels = graph.Info(x).shape[3];
    return builder.Conv2D(x, Variable({3, 3, channels, filters}), 1, Padding::kSame);
  }
  Output Norm(Output x) {
    const Shape channels{graph.Info(x).shape[3]};
    return builder.BatchNorm(x, Variable(channels), Variable(channels), Variable(channels),
                             Variable(channels), /*training=*/false);
  }
  Graph Optimized(const std::vector<Output>& fetches) {
    std::vector<std::string> names;
    for (Output fetch : fetches) names.push_back(graph.At(fetch.node).name);
    graph.Build();
    Graph result;
    OptimizeForInference(graph, names, {}, &result);
    result.Build();
    return result;
  }
};

// Ops other than constants, in the order of the graph.
std::vector<std::string> OpsOf(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.Nodes()) {
    if (node.op != "Const") ops.push_back(node.op);
  }
  return ops;
}

using Ops = std::vector<std::string>;

TEST(OptimizerTest, AConvolutionTakesItsBatchNormAndActivation) {
  Network network;
  const Output y = network.builder.Relu(network.Norm(network.Conv(network.Image(), 8)));
  const Graph graph = network.Optimized({y});
  EXPECT_EQ(OpsOf(graph), (Ops{"Placeholder", "_FusedConv2D"}));
  const Node& fused = graph.At(graph.Find(network.graph.At(y.node).name));
  EXPECT_EQ(GetAttribute<std::string>(fused, "activation"), "Relu");
}

TEST(OptimizerTest, AResidualSumJoinsTheLaterConvolution) {
  Network network;
  const Output x = network.builder.Relu(network.Conv(network.Image(), 8));
  const Output branch = network.Norm(network.Conv(x, 8));
  const Output y = network.builder.Relu(network.builder.AddV2(branch, x));
  const Graph graph = network.Optimized({y});
  EXPECT_EQ(OpsOf(graph), (Ops{"Placeholder", "_FusedConv2D", "_FusedConv2D"}));
  const Node& fused = graph.Nodes().back();
  ASSERT_EQ(fused.inputs.size(), 4u);
  EXPECT_EQ(graph.At(fused.inputs[3].node).op, "_FusedConv2D");
}

TEST(OptimizerTest, AProductTakesItsBias) {
  Network network;
  const Output x = network.builder.Placeholder("rows", {2, 6});
  const Output y = network.builder.Relu(network.builder.BiasAdd(
      network.builder.MatMul(x, network.Variable({6, 3})), network.Variable({3})));
  EXPECT_EQ(OpsOf(network.Optimized({y})), (Ops{"Placeholder", "_FusedMatMul"}));
}

TEST(OptimizerTest, ATransposedProductIsFusedAsItIs) {
  Network network;
  const Output x = network.builder.Placeholder("rows", {2, 6});
  const NodeId product = network.graph.Add("MatMul", "product", {x, network.Variable({3, 6})},
                                           {{"transpose_b", true}});
  const Output y = network.builder.BiasAdd({product, 0}, network.Variable({3}));
  const Graph graph = network.Optimized({y});
  EXPECT_EQ(OpsOf(graph), (Ops{"Placeholder", "_FusedMatMul"}));
  EXPECT_TRUE(GetAttribute<bool>(graph.Nodes().back(), "transpose_b"));
}

TEST(OptimizerTest, ABatchNormWithoutConvolutionIsOneScale) {
  Network network;
  const Output y = network.builder.Relu(network.Norm(network.Image()));
  EXPECT_EQ(OpsOf(network.Optimized({y})), (Ops{"Placeholder", "_FusedScale"}));
}

TEST(OptimizerTest, WhatIsUsedElsewhereStays) {
  Network network;
  const Output conv = network.Conv(network.Image(), 4);
  const Output y = network.builder.Relu(conv);
  const Graph graph = network.Optimized({y, conv});
  EXPECT_EQ(OpsOf(graph), (Ops{"Placeholder", "_FusedConv2D", "Relu"}));
}

TEST(OptimizerTest, FoldedWeightsAreThoseOfTheNorm) {
  Network network;
  const Output conv = network.Conv(network.Image(1), 2);
  const Output norm = network.Norm(conv);
  const Graph graph = network.Optimized({norm});
  const Node& before = network.graph.At(norm.node);
  const auto parameter = [&](size_t input, int64_t channel) {
    return double{
        std::get<Tensor>(network.graph.At(before.inputs[input].node).attributes.at("initial"))
            .Floats()[channel]};
  };
  const Node& fused = graph.Nodes().back();
  const Tensor& folded = GetAttribute<Tensor>(graph.At(fused.inputs[1].node), "value");
  const Tensor& bias = GetAttribute<Tensor>(graph.At(fused.inputs[2].node), "value");
  const Tensor& filter =
      GetAttribute<Tensor>(network.graph.At(network.graph.At(conv.node).inputs[1].node), "initial");
  for (int64_t channel = 0; channel < 2; ++channel) {
    const double factor = parameter(1, channel) / std::sqrt(parameter(4, channel) + 1e-5);
    EXPECT_NEAR(folded.Floats()[channel], filter.Floats()[channel] * factor, 1e-6);
    EXPECT_NEAR(bias.Floats()[channel], parameter(2, channel) - parameter(3, channel) * factor,
                1e-6);
  }
}

TEST(OptimizerTest, ValuesReplaceInitialOnes) {
  Network network;
  const Output y =
      network.builder.MatMul(network.builder.Placeholder("rows", {1, 1}), network.Variable({1, 1}));
  network.graph.Build();
  const std::string name = network.graph.At(network.graph.At(y.node).inputs[1].node).name;
  Graph result;
  OptimizeForInference(network.graph, {network.graph.At(y.node).name}, {{name, Values({1, 1}, 9)}},
                       &result);
  EXPECT_EQ(GetAttribute<Tensor>(result.At(result.Find(name)), "value").Floats()[0],
            Values({1, 1}, 9).Floats()[0]);
}

TEST(OptimizerTest, UnknownFetchIsAnError) {
  Network network;
  network.Image();
  Graph result;
  EXPECT_THROW(OptimizeForInference(network.graph, {"nothing"}, {}, &result), InputError);
}

}  // namespace
}  // namespace cosched
