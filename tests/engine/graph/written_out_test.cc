// Ops that files write out in elementary ones become one node each, whatever the order of their
// operands; what only looks like them stays as it is. The values:
// tests/engine/session/fused_test.cc.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "engine/graph/graph_builder.h"
#include "engine/graph/optimizer.h"

namespace cosched {
namespace {

using Ops = std::vector<std::string>;

struct Network {
  Graph graph;
  GraphBuilder builder{&graph};

  Output Image() { return builder.Placeholder("x", {2, 5, 5, 4}); }
  Output Scalar(float value) {
    return builder.Const(graph.UniqueName("scalar"), Tensor::Scalar(value));
  }
  Output Variable(const Shape& shape) {
    Tensor value(shape);
    for (int64_t i = 0; i < value.Elements(); ++i)
      value.Floats()[i] = 0.5f + 0.25f * static_cast<float>(i);
    return builder.Variable("v" + std::to_string(graph.Size()), value);
  }
  Output Erf(Output x) { return {builder.AddNode("Erf", {x})}; }
  Output Sqrt(Output x) { return {builder.AddNode("Sqrt", {x})}; }
  Output Square(Output x) { return builder.Mul(x, x); }
  Output Mean(Output x, int64_t axis = 3, bool keep = true) {
    return builder.Mean(x, {axis}, keep);
  }
  // Without scale and offset.
  Output Normal(Output x, int64_t axis = 3) {
    const Output centred = builder.Sub(x, Mean(x, axis));
    const Output variance = builder.AddV2(Mean(Square(centred), axis), Scalar(1e-6f));
    return builder.RealDiv(centred, Sqrt(variance));
  }
  Output ByPixel(Output x, int64_t filters, bool transposed = false) {
    const Shape shape = graph.Info(x).shape;  // A copy: new nodes move the others.
    const Output rows = builder.Reshape(x, {shape.Elements() / shape[3], shape[3]});
    const Shape weights = transposed ? Shape{filters, shape[3]} : Shape{shape[3], filters};
    const Output product{
        builder.AddNode("MatMul", {rows, Variable(weights)}, {{"transpose_b", transposed}})};
    return builder.Reshape(product, {shape[0], shape[1], shape[2], filters});
  }
  Graph Optimized(Output fetch) {
    const std::string name = graph.At(fetch.node).name;
    graph.Build();
    Graph result;
    OptimizeForInference(graph, {name}, {}, &result);
    result.Build();
    return result;
  }
};

// Ops other than constants and the placeholder, in the order of the graph.
Ops OpsOf(const Graph& graph) {
  Ops ops;
  for (const Node& node : graph.Nodes()) {
    if (node.op != "Const" && node.op != "Placeholder") ops.push_back(node.op);
  }
  return ops;
}

Ops OpsOf(const std::function<Output(Network&)>& build) {
  Network network;
  return OpsOf(network.Optimized(build(network)));
}

const Tensor& ConstantOf(const Graph& graph, const Node& node, size_t input) {
  return GetAttribute<Tensor>(graph.At(node.inputs[input].node), "value");
}

TEST(WrittenOutTest, ALayerNormTakesItsParameters) {
  Network network;
  Output x = network.builder.Mul(network.Variable({1, 1, 1, 4}), network.Normal(network.Image()));
  x = network.builder.BiasAdd(x, network.Variable({4}));
  const Graph graph = network.Optimized(x);
  ASSERT_EQ(OpsOf(graph), (Ops{"_FusedLayerNorm"}));
  const Node& norm = graph.Nodes().back();
  EXPECT_EQ(GetAttribute<float>(norm, "epsilon"), 1e-6f);
  for (size_t input : {1, 2}) {
    EXPECT_EQ(ConstantOf(graph, norm, input).GetShape(), Shape{4});
    EXPECT_EQ(ConstantOf(graph, norm, input).Floats()[3], 1.25f);
  }
}

TEST(WrittenOutTest, ALayerNormMayHaveNoParametersOrOne) {
  EXPECT_EQ(OpsOf([](Network& n) { return n.Normal(n.Image()); }), (Ops{"_FusedLayerNorm"}));
  EXPECT_EQ(OpsOf([](Network& n) { return n.builder.AddV2(n.Variable({4}), n.Normal(n.Image())); }),
            (Ops{"_FusedLayerNorm"}));
  // A factor after the offset is no part of it.
  EXPECT_EQ(OpsOf([](Network& n) {
              const Output x = n.builder.BiasAdd(n.Normal(n.Image()), n.Variable({4}));
              return n.builder.Mul(x, n.Variable({4}));
            }),
            (Ops{"_FusedLayerNorm", "Mul"}));
}

TEST(WrittenOutTest, WhatOnlyLooksLikeALayerNormStays) {
  const auto is_fused = [](const std::function<Output(Network&)>& build) {
    const Ops ops = OpsOf(build);
    return std::find(ops.begin(), ops.end(), "_FusedLayerNorm") != ops.end();
  };
  EXPECT_FALSE(is_fused([](Network& n) { return n.Normal(n.Image(), /*axis=*/1); }));
  EXPECT_FALSE(is_fused([](Network& n) {  // The mean of something else.
    const Output x = n.Image();
    const Output centred = n.builder.Sub(x, n.Mean(n.builder.Relu(x)));
    const Output variance = n.builder.AddV2(n.Mean(n.Square(centred)), n.Scalar(1));
    return n.builder.RealDiv(centred, n.Sqrt(variance));
  }));
  EXPECT_FALSE(is_fused([](Network& n) {  // Squares of x itself.
    const Output x = n.Image();
    const Output variance = n.builder.AddV2(n.Mean(n.Square(x)), n.Scalar(1));
    return n.builder.RealDiv(n.builder.Sub(x, n.Mean(x)), n.Sqrt(variance));
  }));
  EXPECT_FALSE(is_fused([](Network& n) {  // Not the root.
    const Output x = n.Image();
    const Output centred = n.builder.Sub(x, n.Mean(x));
    return n.builder.RealDiv(centred, n.builder.AddV2(n.Mean(n.Square(centred)), n.Scalar(1)));
  }));
}

TEST(WrittenOutTest, AGeluIsOneWhateverTheOrderOfItsFactors) {
  const float root = std::sqrt(2.0f);
  const auto twice = [&](Network& n, Output x, bool divides) {
    const Output scaled =
        divides ? n.builder.RealDiv(x, n.Scalar(root)) : n.builder.Mul(n.Scalar(1 / root), x);
    return divides ? n.builder.AddV2(n.Erf(scaled), n.Scalar(1))
                   : n.builder.AddV2(n.Scalar(1), n.Erf(scaled));
  };
  for (const bool divides : {true, false}) {
    EXPECT_EQ(OpsOf([&](Network& n) {
                const Output x = n.Image();
                return n.builder.Mul(n.builder.Mul(x, twice(n, x, divides)), n.Scalar(0.5f));
              }),
              (Ops{"Gelu"}));
    EXPECT_EQ(OpsOf([&](Network& n) {
                const Output x = n.Image();
                return n.builder.Mul(twice(n, x, divides), n.builder.Mul(n.Scalar(0.5f), x));
              }),
              (Ops{"Gelu"}));
  }
  const auto has_erf = [&](float half, float one, bool of_x) {
    const Ops ops = OpsOf([&](Network& n) {
      const Output x = n.Image();
      const Output erf = n.Erf(n.builder.RealDiv(x, n.Scalar(root)));
      const Output sum = n.builder.AddV2(erf, n.Scalar(one));
      return n.builder.Mul(n.builder.Mul(of_x ? x : n.builder.Relu(x), sum), n.Scalar(half));
    });
    return std::find(ops.begin(), ops.end(), "Erf") != ops.end();
  };
  EXPECT_FALSE(has_erf(0.5f, 1, true));
  EXPECT_TRUE(has_erf(0.4f, 1, true));
  EXPECT_TRUE(has_erf(0.5f, 0, true));
  EXPECT_TRUE(has_erf(0.5f, 1, false));
}

TEST(WrittenOutTest, APixelsProductIsAConvolutionWithItsActivationAndResidual) {
  for (const bool transposed : {false, true}) {
    Network network;
    const Output x = network.Image();
    Output y = network.ByPixel(x, 6, transposed);
    y = network.builder.Relu(network.builder.BiasAdd(y, network.Variable({6})));
    y = network.builder.BiasAdd(network.ByPixel(y, 4), network.Variable({4}));
    y = network.builder.AddV2(network.builder.Mul(network.Variable({1, 1, 1, 4}), y), x);
    const Graph graph = network.Optimized(y);
    ASSERT_EQ(OpsOf(graph), (Ops{"_FusedConv2D", "_FusedConv2D"}));
    const Node& last = graph.Nodes().back();
    EXPECT_EQ(last.inputs.size(), 4u);
    const Node& first = graph.At(last.inputs[0].node);
    EXPECT_EQ(GetAttribute<std::string>(first, "activation"), "Relu");
    // [4,6]: 0.5, 0.75, … as the weights are stored.
    const Tensor& filter = ConstantOf(graph, first, 1);
    EXPECT_EQ(filter.GetShape(), (Shape{1, 1, 4, 6}));
    EXPECT_EQ(filter.Floats()[1], transposed ? 0.5f + 4 * 0.25f : 0.75f);
    // Scaled: weights [6,4] by 0.5, 0.75, ….
    EXPECT_EQ(ConstantOf(graph, last, 1).Floats()[1], 0.75f * 0.75f);
    EXPECT_EQ(ConstantOf(graph, last, 2).Floats()[3], 1.25f * 1.25f);
  }
}

TEST(WrittenOutTest, ProductsOfOtherRowsStay) {
  EXPECT_EQ(OpsOf([](Network& n) {  // Rows of a line of pixels.
              const Output rows = n.builder.Reshape(n.Image(), {10, 20});
              const Output product = n.builder.MatMul(rows, n.Variable({20, 4}));
              return n.builder.Reshape(product, {2, 5, 1, 4});
            }),
            (Ops{"Reshape", "_FusedMatMul", "Reshape"}));
  EXPECT_EQ(OpsOf([](Network& n) {  // Pixels that change their places.
              const Output rows = n.builder.Reshape(n.Image(), {50, 4});
              const Output product = n.builder.MatMul(rows, n.Variable({4, 3}));
              return n.builder.Reshape(product, {5, 2, 5, 3});
            }),
            (Ops{"Reshape", "_FusedMatMul", "Reshape"}));
}

TEST(WrittenOutTest, FactorsOfOtherDimensionsAreNotFolded) {
  EXPECT_EQ(OpsOf([](Network& n) {
              return n.builder.Mul(n.ByPixel(n.Image(), 5), n.Variable({5, 1}));
            }),
            (Ops{"_FusedConv2D", "Mul"}));
}

}  // namespace
}  // namespace cosched
