// Multiply-accumulates of convolutions, counted by hand.

#include "engine/graph/flops.h"

#include <gtest/gtest.h>

#include "engine/graph/graph_builder.h"

namespace cosched {
namespace {

double FlopsOf(const Graph& graph, Output output) {
  std::vector<OutputInfo> inputs;
  for (const Output& input : graph.At(output.node).inputs) inputs.push_back(graph.Info(input));
  return Flops(graph.At(output.node), inputs);
}

TEST(FlopsTest, ConvolutionsAndTheirGradientsCountTheSame) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output images = builder.Placeholder("images", {2, 8, 8, 3});
  const Output filter = builder.Variable("filter", Tensor({3, 3, 3, 4}));
  const Output sums = builder.Conv2D(images, filter, 2, Padding::kSame);
  const double expected = 2.0 * (2 * 4 * 4 * 4) * (3 * 3 * 3);
  EXPECT_EQ(FlopsOf(graph, sums), expected);
  builder.Gradients(builder.MeanAll(sums), {images, filter});
  int gradients = 0;
  for (const Node& node : graph.Nodes()) {
    if (!node.op.starts_with("Conv2DBackprop")) continue;
    ++gradients;
    EXPECT_EQ(FlopsOf(graph, {node.id, 0}), expected) << node.op;
  }
  EXPECT_EQ(gradients, 2);
}

TEST(FlopsTest, DepthwiseChannelsAreNotMultipliedWithEachOther) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output images = builder.Placeholder("images", {1, 6, 6, 8});
  const Output filter = builder.Variable("filter", Tensor({3, 3, 1, 8}));
  const Output sums = builder.Conv2D(images, filter, 1, Padding::kSame);
  EXPECT_EQ(FlopsOf(graph, sums), 2.0 * (6 * 6 * 8) * 9);
}

TEST(FlopsTest, ProductsCountAndOtherOpsDoNot) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output a = builder.Placeholder("a", {5, 7});
  const Output b = builder.Variable("b", Tensor({7, 11}));
  const Output product = builder.MatMul(a, b);
  EXPECT_EQ(FlopsOf(graph, product), 2.0 * 5 * 7 * 11);
  EXPECT_EQ(FlopsOf(graph, builder.Relu(product)), 0);
}

TEST(FlopsTest, WindowsReadAnElementAsOftenAsTheyCoverIt) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output images = builder.Placeholder("images", {2, 6, 5, 3});
  const auto read = [&](Output output) {
    return ElementsRead(graph.At(output.node), {graph.Info(images)});
  };
  EXPECT_EQ(read(builder.Relu(images)), 2 * 6 * 5 * 3);
  EXPECT_EQ(read(builder.MaxPool(images, 3, 1, Padding::kValid)), 2 * 4 * 3 * 3 * 9);
  // A window larger than the image covers padding, which is nowhere.
  const PoolingOptions large = {.window = 100,
                                .stride = 1,
                                .padding = Padding::kExplicit,
                                .explicit_paddings = {99, 0, 99, 0}};
  EXPECT_EQ(read(builder.AvgPool(images, large)), 2 * 6 * 5 * 3 * (6 * 5));
  const Output response{builder.AddNode(
      "LRN", {images},
      {{"depth_radius", int64_t{100}}, {"bias", 1.0f}, {"alpha", 1.0f}, {"beta", 0.5f}})};
  EXPECT_EQ(read(response), 2 * 6 * 5 * 3 * 7);
}

}  // namespace
}  // namespace cosched
