// What the optimiser makes gives the values of the graph that it was made from: with the naive
// loops, with the fast kernels, in one piece and in many.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "engine/graph/optimizer.h"
#include "small_cnn.h"

namespace cosched {
namespace {

// Convolutions with norms, residuals and activations of all kinds, branches, a dense layer.
struct InferenceCnn {
  static constexpr int64_t kBatch = 6;
  Graph graph;
  GraphBuilder builder{&graph};
  Random random{3};
  std::vector<std::string> fetches;

  Output Weights(const Shape& shape, double deviation = 0.3) {
    return builder.Variable("v" + std::to_string(graph.Size()),
                            RandomTensor(shape, deviation, &random));
  }
  Output Norm(Output x) {
    const int64_t channels = graph.Info(x).shape[3];
    Tensor variance = RandomTensor({channels}, 0.1, &random);
    for (int64_t c = 0; c < channels; ++c)
      variance.Floats()[c] = std::abs(variance.Floats()[c]) + 0.5f;
    const Output mean = Weights({channels}), offset = Weights({channels});
    return builder.BatchNorm(x, Weights({channels}, 1), offset, mean,
                             builder.Variable("variance" + std::to_string(graph.Size()), variance),
                             false);
  }
  Output Conv(Output x, int64_t size, int64_t filters, int stride = 1) {
    const int64_t channels = graph.Info(x).shape[3];
    return builder.Conv2D(x, Weights({size, size, channels, filters}), stride, Padding::kSame);
  }

  struct Empty {};
  explicit InferenceCnn(Empty) {}
  InferenceCnn() {
    Output x = builder.Placeholder("images", {kBatch, 19, 17, 3});
    x = builder.Relu(Norm(Conv(x, 5, 16, 2)));
    const Output left = Norm(Conv(x, 3, 24));
    const Output right = Norm(Conv(x, 1, 24));
    x = builder.Relu(builder.AddV2(left, right));
    const Output residual = Norm(Conv(builder.Relu6(Norm(Conv(x, 1, 7))), 3, 24));
    x = builder.AddV2(x, residual);
    const Output scaled = builder.Relu(Norm(x));  // No convolution before it.
    x = builder.AddV2(Conv(scaled, 3, 24), x);    // The residual is read by the norm, too.
    x = builder.HardSwish(builder.BiasAdd(Conv(x, 1, 40), Weights({40})));
    x = builder.Reshape(builder.GlobalAveragePool(x), {kBatch, 40});
    x = builder.Relu(builder.BiasAdd(builder.MatMul(x, Weights({40, 130})), Weights({130})));
    const NodeId product =
        graph.Add("MatMul", "transposed", {x, Weights({67, 130})}, {{"transpose_b", true}});
    x = builder.MatMul(builder.Relu(builder.BiasAdd({product, 0}, Weights({67}))),
                       Weights({67, 5}));
    fetches = {graph.At(x.node).name};
    graph.Build();
  }
};

std::vector<float> Values(const Graph& graph, const std::vector<std::string>& fetches,
                          SessionOptions options, int runs = 1) {
  Session session(graph, options);
  Random random(5);
  const Tensor images = RandomTensor({InferenceCnn::kBatch, 19, 17, 3}, 1, &random);
  std::vector<Tensor> results;
  for (int i = 0; i < runs; ++i) results = session.Run({{"images", images}}, fetches);
  return {results[0].Floats(), results[0].Floats() + results[0].Elements()};
}

void ExpectNear(const std::vector<float>& values, const std::vector<float>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  float largest = 0;
  for (float value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 2e-5f * largest) << i;
}

class FusedTest : public testing::TestWithParam<std::tuple<KernelBackend, int>> {};

TEST_P(FusedTest, GivesWhatItWasMadeFrom) {
  const InferenceCnn cnn;
  const std::vector<float> expected =
      Values(cnn.graph, cnn.fetches, {.backend = KernelBackend::kReference});
  Graph fused;
  OptimizeForInference(cnn.graph, cnn.fetches, {}, &fused);
  fused.Build();
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.piece_time = std::chrono::microseconds(std::get<1>(GetParam()));
  options.intra_op_parallelism_threads = 2;
  ExpectNear(Values(fused, cnn.fetches, options), expected);
  ExpectNear(Values(fused, cnn.fetches, options, /*runs=*/3), expected);
}

TEST_P(FusedTest, SlicesOfTheBatchGiveWhatTheWholeGives) {
  const InferenceCnn cnn;
  Graph whole, sliced;
  OptimizeForInference(cnn.graph, cnn.fetches, {}, &whole);
  OptimizeForInference(cnn.graph, cnn.fetches, {}, &sliced, {.bytes = 1, .inter = 2});
  ASSERT_GT(sliced.Size(), whole.Size());
  whole.Build();
  sliced.Build();
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.piece_time = std::chrono::microseconds(std::get<1>(GetParam()));
  options.inter_op_parallelism_threads = 2;
  ExpectNear(Values(sliced, cnn.fetches, options, /*runs=*/2), Values(whole, cnn.fetches, options));
}

// Large images, then many weights: the first layers are computed for one image at a time, the last
// for three.
struct GrowingCnn : InferenceCnn {
  GrowingCnn() : InferenceCnn(Empty{}) {
    Output x = builder.Placeholder("images", {kBatch, 19, 17, 3});
    x = builder.Relu(Conv(x, 3, 16));
    x = builder.Relu(Conv(x, 3, 16, 4));
    Output y = builder.Relu(Conv(x, 1, 64, 2));
    x = builder.Relu(Conv(y, 1, 64));
    x = builder.AddV2(builder.Relu(Conv(x, 3, 64)), y);
    fetches = {graph.At(x.node).name};
    graph.Build();
  }
};

TEST_P(FusedTest, SlicesOfTwoSizesGiveWhatTheWholeGives) {
  const GrowingCnn cnn;
  Graph whole, sliced;
  OptimizeForInference(cnn.graph, cnn.fetches, {}, &whole);
  OptimizeForInference(cnn.graph, cnn.fetches, {}, &sliced,
                       {.bytes = 30'000, .inter = 2, .least_flops = 0});
  const auto joins = std::ranges::count(sliced.Nodes(), "ConcatV2", &Node::op);
  const auto slices = std::ranges::count(sliced.Nodes(), "Slice", &Node::op);
  ASSERT_EQ(slices, 6) << "an image each";
  ASSERT_EQ(joins, 2 + 1) << "for two slices of three images, and of what they give";
  whole.Build();
  sliced.Build();
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.piece_time = std::chrono::microseconds(std::get<1>(GetParam()));
  options.inter_op_parallelism_threads = 2;
  ExpectNear(Values(sliced, cnn.fetches, options, /*runs=*/2), Values(whole, cnn.fetches, options));
}

// One thread computes slices in turn, in buffers that they share.
TEST_P(FusedTest, SlicesGiveTheSameBitsSideBySideAndInTurn) {
  const GrowingCnn cnn;
  Graph sliced;
  OptimizeForInference(cnn.graph, cnn.fetches, {}, &sliced,
                       {.bytes = 30'000, .inter = 3, .least_flops = 0});
  sliced.Build();
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.piece_time = std::chrono::microseconds(std::get<1>(GetParam()));
  options.inter_op_parallelism_threads = 3;
  options.intra_op_parallelism_threads = 2;
  Random random(5);
  const Tensor images = RandomTensor({InferenceCnn::kBatch, 19, 17, 3}, 1, &random);
  for (const bool one_list : {false, true}) {
    options.one_list_of_fetches = one_list;
    Session session(sliced, options);
    Tensor first;
    for (const Split split : {Split{3, 2}, Split{1, 1}, Split{2, 1}, Split{1, 2}, Split{3, 2}}) {
      session.Resize(CpuSet::Range(0, ThreadsOf(split) - 1), split);
      const Tensor now = session.Run({{"images", images}}, cnn.fetches)[0];
      if (first.IsEmpty()) first = now;
      ASSERT_EQ(now.Bytes(), first.Bytes());
      EXPECT_EQ(std::memcmp(now.Data(), first.Data(), now.Bytes()), 0)
          << split.inter << "+" << split.intra;
    }
  }
}

// A ConvNeXt in small: a layer norm, a block whose products are of pixels, all written out.
struct WrittenOutCnn : InferenceCnn {
  Output Mean(Output x) { return builder.Mean(x, {3}, /*keep_dims=*/true); }
  Output Scalar(float value) {
    return builder.Const(graph.UniqueName("scalar"), Tensor::Scalar(value));
  }
  Output LayerNorm(Output x) {
    const Shape channels{graph.Info(x).shape[3]};
    const Output centred = builder.Sub(x, Mean(x));
    const Output variance = Mean(builder.Mul(centred, centred));
    const Output deviation{builder.AddNode("Sqrt", {builder.AddV2(variance, Scalar(1e-6f))})};
    const Output normal = builder.RealDiv(centred, deviation);
    return builder.BiasAdd(builder.Mul(normal, Weights(channels, 1)), Weights(channels));
  }
  Output Gelu(Output x) {
    const Output scaled = builder.RealDiv(x, Scalar(std::sqrt(2.0f)));
    const Output sum = builder.AddV2({builder.AddNode("Erf", {scaled})}, Scalar(1));
    return builder.Mul(builder.Mul(x, sum), Scalar(0.5f));
  }
  Output Linear(Output x, int64_t filters) {
    const Shape shape = graph.Info(x).shape;  // A copy: new nodes move the others.
    const Output rows = builder.Reshape(x, {shape.Elements() / shape[3], shape[3]});
    const Shape result{shape[0], shape[1], shape[2], filters};
    const Output y = builder.MatMul(rows, Weights({graph.Info(rows).shape[1], filters}));
    return builder.BiasAdd(builder.Reshape(y, result), Weights({filters}));
  }

  WrittenOutCnn() : InferenceCnn(Empty{}) {
    Output x = builder.Placeholder("images", {kBatch, 19, 17, 3});
    x = LayerNorm(Conv(x, 2, 20, 2));
    Output y = builder.Conv2D(x, Weights({7, 7, 1, 20}), {.padding = Padding::kSame});
    y = Linear(Gelu(Linear(LayerNorm(builder.BiasAdd(y, Weights({20}))), 80)), 20);
    x = builder.AddV2(builder.Mul(Weights({1, 1, 1, 20}), y), x);
    x = builder.Reshape(LayerNorm(Mean1x1(x)), {kBatch, 20});
    x = Gelu(builder.BiasAdd(builder.MatMul(x, Weights({20, 5})), Weights({5})));
    fetches = {graph.At(x.node).name};
    graph.Build();
  }
  Output Mean1x1(Output x) { return builder.Mean(x, {1, 2}, /*keep_dims=*/true); }
};

TEST_P(FusedTest, WrittenOutOpsGiveWhatTheyWereMadeFrom) {
  const WrittenOutCnn cnn;
  const std::vector<float> expected =
      Values(cnn.graph, cnn.fetches, {.backend = KernelBackend::kReference});
  Graph fused, sliced;
  OptimizeForInference(cnn.graph, cnn.fetches, {}, &fused);
  OptimizeForInference(cnn.graph, cnn.fetches, {}, &sliced,
                       {.bytes = 1, .inter = 2, .least_flops = 0});
  ASSERT_LT(fused.Size(), cnn.graph.Size());
  ASSERT_GT(sliced.Size(), fused.Size());
  fused.Build();
  sliced.Build();
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.piece_time = std::chrono::microseconds(std::get<1>(GetParam()));
  options.intra_op_parallelism_threads = 2;
  ExpectNear(Values(cnn.graph, cnn.fetches, options, /*runs=*/2), expected);
  ExpectNear(Values(fused, cnn.fetches, options, /*runs=*/2), expected);
  ExpectNear(Values(sliced, cnn.fetches, options, /*runs=*/2), expected);
}

struct ConvolutionCase {
  Shape images;
  int64_t size, filters;
  ConvolutionOptions options;
  bool residual = false;
};

// A convolution with bias and activation, as the optimiser fuses it, against the naive loops on
// the graph that it was made from.
void ExpectConvolution(const ConvolutionCase& c, SessionOptions options) {
  Graph graph, fused;
  GraphBuilder builder(&graph);
  Random random(11);
  const Output images = builder.Placeholder("images", c.images);
  const Output weights = builder.Variable(
      "filter", RandomTensor({c.size, c.size, c.images[3], c.filters}, 1, &random));
  const Output bias = builder.Variable("bias", RandomTensor({c.filters}, 1, &random));
  Output x = builder.BiasAdd(builder.Conv2D(images, weights, c.options), bias);
  Feeds feeds = {{"images", RandomTensor(c.images, 1, &random)}};
  if (c.residual) {
    const Shape shape = graph.Info(x).shape;
    x = builder.AddV2(builder.Relu(builder.Placeholder("residual", shape)), x);
    feeds.emplace_back("residual", RandomTensor(shape, 10, &random));
  }
  const std::string fetch = graph.At(builder.HardSwish(x).node).name;
  graph.Build();
  OptimizeForInference(graph, {fetch}, {}, &fused);
  fused.Build();
  const auto values = [&](const Graph& of, const SessionOptions& with, int runs) {
    Session session(of, with);
    Tensor result;
    for (int run = 0; run < runs; ++run) result = session.Run(feeds, {fetch})[0];
    return std::vector<float>(result.Floats(), result.Floats() + result.Elements());
  };
  SCOPED_TRACE(c.images.ToString());
  const std::vector<float> expected = values(graph, {.backend = KernelBackend::kReference}, 1);
  for (int threads : {1, 3}) {
    options.intra_op_parallelism_threads = threads;
    ExpectNear(values(fused, options, /*runs=*/2), expected);
  }
}

// Few channels on both sides: computed two pixels at a time where a row has an even number of them.
TEST_P(FusedTest, NarrowConvolutions) {
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.piece_time = std::chrono::microseconds(std::get<1>(GetParam()));
  const ConvolutionCase cases[] = {
      {{8, 28, 28, 1}, 5, 6, {}},
      {{3, 9, 10, 2}, 5, 3, {.padding = Padding::kValid}},
      {{2, 11, 13, 1}, 6, 8, {.stride = {2, 1}, .padding = Padding::kSame}},
      {{2, 9, 11, 1}, 5, 7, {.padding = Padding::kExplicit, .explicit_paddings = {1, 0, 3, 2}}},
      {{1, 12, 12, 3}, 5, 8, {.stride = {1, 2}}},
      {{1, 15, 15, 1}, 5, 2, {.dilations = {1, 2}}},
      {{1, 15, 16, 1}, 5, 2, {.dilations = {2, 1}}},
  };
  for (const ConvolutionCase& c : cases) ExpectConvolution(c, options);
}

// Windows of 3x3 on many channels: Winograd's filtering.
TEST_P(FusedTest, WideConvolutions) {
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.piece_time = std::chrono::microseconds(std::get<1>(GetParam()));
  const ConvolutionCase cases[] = {
      {{2, 13, 11, 64}, 3, 80, {}},
      {{1, 9, 18, 96}, 3, 64, {.padding = Padding::kValid}, true},
      {{3, 10, 7, 64}, 3, 64, {.padding = Padding::kExplicit, .explicit_paddings = {2, 0, 0, 3}}},
      {{1, 6, 6, 256}, 3, 128, {}, true},
  };
  for (const ConvolutionCase& c : cases) ExpectConvolution(c, options);
}

// More weights than a core's cache holds.
TEST_P(FusedTest, OneRowTimesManyWeights) {
  for (bool transposed : {false, true}) {
    constexpr int64_t kInner = 1001, kColumns = 707;
    Graph graph, fused;
    GraphBuilder builder(&graph);
    Random random(7);
    const Output row = builder.Placeholder("row", {1, kInner});
    const Shape shape = transposed ? Shape{kColumns, kInner} : Shape{kInner, kColumns};
    const NodeId product = graph.Add("MatMul", "product",
                                     {row, builder.Variable("w", RandomTensor(shape, 1, &random))},
                                     {{"transpose_b", transposed}});
    const Output bias = builder.Variable("b", RandomTensor({kColumns}, 1, &random));
    const std::string fetch = graph.At(builder.Relu(builder.BiasAdd({product, 0}, bias)).node).name;
    graph.Build();
    OptimizeForInference(graph, {fetch}, {}, &fused);
    fused.Build();
    SessionOptions options;
    options.backend = std::get<0>(GetParam());
    options.piece_time = std::chrono::microseconds(std::get<1>(GetParam()));
    options.intra_op_parallelism_threads = 3;
    const Feeds feeds = {{"row", RandomTensor({1, kInner}, 1, &random)}};
    const auto values = [&](const Graph& of, const SessionOptions& with) {
      const Tensor result = Session(of, with).Run(feeds, {fetch})[0];
      return std::vector<float>(result.Floats(), result.Floats() + result.Elements());
    };
    ExpectNear(values(fused, options), values(graph, {.backend = KernelBackend::kReference}));
  }
}

TEST_P(FusedTest, NeedsThePlainConstantsOnlyUntilTheyArePacked) {
  const InferenceCnn cnn;
  Graph fused;
  OptimizeForInference(cnn.graph, cnn.fetches, {}, &fused);
  fused.Build();
  SessionOptions options;
  options.backend = std::get<0>(GetParam());
  options.piece_time = std::chrono::microseconds(std::get<1>(GetParam()));
  const std::vector<float> expected = Values(fused, cnn.fetches, options);
  options.one_list_of_fetches = true;
  ExpectNear(Values(fused, cnn.fetches, options, /*runs=*/2), expected);
}

INSTANTIATE_TEST_SUITE_P(Backends, FusedTest,
                         testing::Combine(testing::Values(KernelBackend::kFast,
                                                          KernelBackend::kReference),
                                          testing::Values(0, 1, 2000)));

}  // namespace
}  // namespace cosched
