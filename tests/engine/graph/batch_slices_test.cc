#include "engine/graph/batch_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/graph/graph_builder.h"

namespace cosched {
namespace {

constexpr int64_t kBatch = 8, kPixels = 4 * 4;
// What Relu, on one channel of an image, reads and writes.
constexpr int64_t kBytesOfImage = 2 * kPixels * sizeof(float);

// Relu, then a product that needs the whole batch.
struct SmallNetwork {
  Graph graph;
  std::string fetch;

  explicit SmallNetwork(const std::string& images = "images") { Add(images); }
  void Add(const std::string& images) {
    GraphBuilder builder(&graph);
    Output x = builder.Relu(builder.Placeholder(images, {kBatch, 4, 4, 1}));
    x = builder.Reshape(x, {kBatch, kPixels});
    const std::vector<float> weights(kPixels, 1.0f);
    x = builder.MatMul(x, builder.Const(images + "/weights",
                                        Tensor::Of({kPixels, 1}, std::span<const float>(weights))));
    fetch = graph.At(x.node).name;
  }
};

int64_t Count(const Graph& graph, const std::string& op) {
  return std::count_if(graph.Nodes().begin(), graph.Nodes().end(),
                       [&](const Node& node) { return node.op == op; });
}

TEST(BatchSlicesTest, ImagesAreSlicedAndTheProductIsNot) {
  const SmallNetwork network;
  const Graph sliced = SliceBatches(network.graph, {network.fetch}, {.bytes = 2 * kBytesOfImage});
  EXPECT_EQ(Count(sliced, "Relu"), 4);
  EXPECT_EQ(Count(sliced, "MatMul"), 1);
  EXPECT_EQ(Count(sliced, "ConcatV2"), 1);
  EXPECT_EQ(sliced.Info({sliced.Find(network.fetch), 0}).shape, (Shape{kBatch, 1}));
}

// However many threads share it: on one core it costs what it costs without them.
TEST(BatchSlicesTest, ASliceHasWhatFitsIntoTheCacheOfACore) {
  const SmallNetwork network;
  const auto slices = [&](int64_t bytes, int intra) {
    return Count(SliceBatches(network.graph, {network.fetch}, {.bytes = bytes, .intra = intra}),
                 "Relu");
  };
  EXPECT_EQ(slices(1, 1), 8);
  EXPECT_EQ(slices(1, 8), 8);
  EXPECT_EQ(slices(2 * kBytesOfImage, 1), 4);
  EXPECT_EQ(slices(2 * kBytesOfImage, 8), 4);
}

TEST(BatchSlicesTest, SlicesAreOfOneSize) {
  const SmallNetwork network;  // Three fit; 8 is no multiple of 3.
  const Graph sliced = SliceBatches(network.graph, {network.fetch}, {.bytes = 3 * kBytesOfImage});
  EXPECT_EQ(Count(sliced, "Relu"), 4);
}

TEST(BatchSlicesTest, WhatFitsStaysWhole) {
  const SmallNetwork network;
  const Graph sliced =
      SliceBatches(network.graph, {network.fetch}, {.bytes = kBatch * kBytesOfImage});
  EXPECT_EQ(Count(sliced, "Relu"), 1);
  EXPECT_EQ(Count(sliced, "Slice"), 0);
}

TEST(BatchSlicesTest, SlicesFollowEachOther) {
  const SmallNetwork network;
  for (int inter : {1, 2}) {
    const Graph sliced =
        SliceBatches(network.graph, {network.fetch}, {.bytes = 2 * kBytesOfImage, .inter = inter});
    int ordered = 0;
    for (const Node& node : sliced.Nodes()) ordered += node.control_inputs.empty() ? 0 : 1;
    EXPECT_EQ(ordered, 4 - inter);
  }
}

// A convolution that does kFlopsOfImage operations on each image.
Graph Convolutions(std::string* fetch) {
  Graph graph;
  GraphBuilder builder(&graph);
  const std::vector<float> filter(16, 1.0f);
  const Output images = builder.Placeholder("images", {kBatch, 4, 4, 1});
  const Output weights =
      builder.Const("filter", Tensor::Of({1, 1, 1, 16}, std::span<const float>(filter)));
  const Output y = {graph.Add("Conv2D", "conv", {images, weights},
                              {{"strides", std::vector<int64_t>{1, 1}}, {"padding", "SAME"}}),
                    0};
  *fetch = graph.At(y.node).name;
  return graph;
}
constexpr double kFlopsOfImage = 2 * kPixels * 16;

TEST(BatchSlicesTest, AThreadThatCouldRunASliceGetsOne) {
  std::string fetch;
  const Graph graph = Convolutions(&fetch);
  const auto slices = [&](double least_flops) {
    return Count(
        SliceBatches(graph, {fetch}, {.bytes = 1 << 20, .inter = 3, .least_flops = least_flops}),
        "Conv2D");
  };
  EXPECT_EQ(slices(0), 4);  // Slices of two images: 8 is no multiple of 3.
  EXPECT_EQ(slices(2 * kFlopsOfImage), 4);
  EXPECT_EQ(slices(3.5 * kFlopsOfImage), 2) << "less than a thread is worth";
  EXPECT_EQ(slices(100 * kFlopsOfImage), 1);
}

TEST(BatchSlicesTest, NodesOfASliceHaveItsTurn) {
  const SmallNetwork network;
  const Graph sliced =
      SliceBatches(network.graph, {network.fetch}, {.bytes = 2 * kBytesOfImage, .inter = 2});
  for (int slice = 0; slice < 4; ++slice) {
    const NodeId id = sliced.Find("Relu/slice" + std::to_string(slice));
    ASSERT_NE(id, -1);
    EXPECT_EQ(sliced.At(id).turn, slice + 1);
  }
  EXPECT_EQ(sliced.At(sliced.Find(network.fetch)).turn, 0);
}

// Sub-networks of several batch sizes: slicing one leaves the other's turns.
TEST(BatchSlicesTest, EachPlaceholdersSlicesHaveTurns) {
  Graph graph;
  GraphBuilder builder(&graph);
  std::vector<std::string> fetches;
  for (const char* name : {"first", "second"}) {
    const Output y = builder.Relu(builder.Relu(builder.Placeholder(name, {kBatch, 4, 4, 1})));
    fetches.push_back(graph.At(y.node).name);
  }
  const Graph sliced = SliceBatches(graph, fetches, {.bytes = kBytesOfImage});
  std::map<int, int> nodes;  // By turn.
  for (const Node& node : sliced.Nodes()) ++nodes[node.turn];
  for (int turn = 1; turn <= kBatch; ++turn) EXPECT_EQ(nodes[turn], nodes[1]) << turn;
  EXPECT_EQ(nodes[1], 2 * 3) << "of each a cut and two activations";
  EXPECT_EQ(nodes.size(), 1u + kBatch);
}

// Pixelwise convolutions: one of large images with few weights, then, on images a sixteenth of the
// size and less, two of which the second has more weights than the cache holds.
Graph GrowingWeights(std::string* fetch, int64_t batch = kBatch) {
  constexpr int64_t kFew = 2, kMany = 64;
  Graph graph;
  GraphBuilder builder(&graph);
  const auto convolve = [&](const Output& x, int64_t in, int64_t out, int64_t stride,
                            const char* name) {
    const Output filter = builder.Const(std::string(name) + "/filter", Tensor({1, 1, in, out}));
    return Output{
        graph.Add("Conv2D", name, {x, filter},
                  {{"strides", std::vector<int64_t>{stride, stride}}, {"padding", "SAME"}}),
        0};
  };
  Output x = builder.Placeholder("images", {batch, 32, 32, kFew});
  for (const char* name : {"zeroth", "same", "again"}) x = convolve(x, kFew, kFew, 1, name);
  x = convolve(x, kFew, kFew, 4, "first");
  x = convolve(x, kFew, kMany, 4, "second");
  x = convolve(x, kMany, kMany, 1, "third");
  *fetch = graph.At(x.node).name;
  return graph;
}

TEST(BatchSlicesTest, LateNodesWithLargeWeightsTakeMoreImagesAtATime) {
  std::string fetch;
  const Graph graph = GrowingWeights(&fetch);
  const Graph sliced =
      SliceBatches(graph, {fetch}, {.bytes = 12'000, .inter = 2, .least_flops = 0});
  const auto images = [&](const std::string& node) {
    const NodeId id = sliced.Find(node);
    return id == -1 ? 0 : sliced.Info({id, 0}).shape[0];
  };
  EXPECT_EQ(images("first/slice7"), 1);
  ASSERT_EQ(images("third/slice1"), 4) << "a half for each of two that run side by side";
  EXPECT_EQ(sliced.Find("third/slice2"), -1);
  EXPECT_EQ(sliced.At(sliced.Find("third/slice0")).turn, 4) << "with the last slice that it needs";
  EXPECT_EQ(images(fetch), kBatch);
  ASSERT_EQ(images("second/slice1"), 4);
  const NodeId joined = sliced.At(sliced.Find("second/slice1")).inputs[0].node;
  EXPECT_EQ(sliced.At(joined).op, "ConcatV2");
  EXPECT_EQ(sliced.At(joined).inputs.size(), 4u);
}

TEST(BatchSlicesTest, ThreadsThatMayShareANodeLetItsWeightsServeAFewImages) {
  std::string fetch;
  const Graph graph = GrowingWeights(&fetch, 2 * kBatch);
  const auto images = [&](int intra) {
    const Graph sliced = SliceBatches(
        graph, {fetch}, {.bytes = 12'000, .intra = intra, .inter = 16, .least_flops = 0});
    return sliced.Info({sliced.Find("third/slice0"), 0}).shape[0];
  };
  EXPECT_EQ(images(2), 8);
  EXPECT_EQ(images(8), 8);
  EXPECT_EQ(images(1), 1);
}

TEST(BatchSlicesTest, EachPlaceholderOfImagesIsSliced) {
  SmallNetwork network("a");
  const std::string first = network.fetch;
  network.Add("b");
  const Graph sliced =
      SliceBatches(network.graph, {first, network.fetch}, {.bytes = 4 * kBytesOfImage});
  EXPECT_EQ(Count(sliced, "Relu"), 4);
}

TEST(BatchSlicesTest, AFetchedNodeOfTheSlicesIsWhole) {
  SmallNetwork network;
  const Graph sliced =
      SliceBatches(network.graph, {"Relu", network.fetch}, {.bytes = 2 * kBytesOfImage});
  EXPECT_EQ(sliced.At(sliced.Find("Relu")).op, "ConcatV2");
  EXPECT_EQ(sliced.Info({sliced.Find("Relu"), 0}).shape, (Shape{kBatch, 4, 4, 1}));
}

// A slice of each would need its part of the constant.
TEST(BatchSlicesTest, ConstantsWithABatchAreNotForSlices) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output images = builder.Placeholder("images", {kBatch, 4, 4, 1});
  const Output added = builder.AddV2(images, builder.Const("c", Tensor({kBatch, 4, 4, 1})));
  const Output joined = builder.ConcatV2({added, builder.Const("d", Tensor({kBatch, 4, 4, 2}))}, 3);
  const Output sum = builder.AddV2(joined, builder.Const("e", Tensor({1, 4, 4, 3})));
  const std::string fetch = graph.At(sum.node).name;
  const Graph sliced = SliceBatches(graph, {fetch}, {.bytes = 1});
  EXPECT_EQ(Count(sliced, "Slice"), 0);
  EXPECT_EQ(sliced.Info({sliced.Find(fetch), 0}).shape, (Shape{kBatch, 4, 4, 3}));
}

// A prime's only divisors are 1 and itself: slices of an image each, or none.
TEST(BatchSlicesTest, ALargePrimeNumberOfImagesStaysWhole) {
  constexpr int64_t kPrime = 65521;
  Graph graph;
  GraphBuilder builder(&graph);
  const Output images = builder.Placeholder("images", {kPrime, 4, 4, 1});
  const std::string fetch = graph.At(builder.Relu(images).node).name;
  EXPECT_EQ(Count(SliceBatches(graph, {fetch}, {.bytes = 2 * kBytesOfImage}), "Relu"), 1);
}

}  // namespace
}  // namespace cosched
