// Blocks of ConvNeXt as exporters write them: layer norm and GELU in elementary ops (before opset
// 17), or as ops of their own. What they give, and that little is left of them once optimised.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "engine/graph/optimizer.h"
#include "tests/engine/graph/readers/naive.h"
#include "tests/engine/graph/readers/onnx_writer.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;
using Ops = std::vector<std::string>;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr int64_t kChannels = 6, kWide = 24;
constexpr float kEpsilon = 1e-6f;
const Dims kImages = {3, kChannels, 9, 8};

struct Weights {
  Array depthwise{{kChannels, 1, 7, 7}, Ramp(kChannels * 49, 0.01f)};
  std::vector<float> depthwise_bias = Ramp(kChannels, 0.2f), scale = Ramp(kChannels, 0.3f),
                     offset = Ramp(kChannels), widen = Ramp(kChannels * kWide, 0.05f),
                     wide_bias = Ramp(kWide), narrow = Ramp(kWide * kChannels, 0.03f),
                     narrow_bias = Ramp(kChannels, 0.07f), layer_scale = Ramp(kChannels, 0.4f);
};

// One block on the images "x", as opset 13 or 20 has it.
OnnxWriter Block(bool as_ops) {
  const Weights w;
  OnnxWriter writer(as_ops ? 20 : 13);
  writer.Input("x", {-1, kImages[1], kImages[2], kImages[3]}).Output("y");
  writer.Floats("dw", w.depthwise.dims, w.depthwise.values);
  writer.Floats("db", {kChannels}, w.depthwise_bias).Floats("g", {kChannels}, w.scale);
  writer.Floats("b", {kChannels}, w.offset).Floats("w1", {kChannels, kWide}, w.widen);
  writer.Floats("b1", {kWide}, w.wide_bias).Floats("w2", {kWide, kChannels}, w.narrow);
  writer.Floats("b2", {kChannels}, w.narrow_bias).Floats("ls", {kChannels, 1, 1}, w.layer_scale);
  writer.Node("Conv", {"x", "dw", "db"}, "c").With("group", kChannels).With("pads", Dims(4, 3));
  writer.Node("Transpose", {"c"}, "t").With("perm", Dims{0, 2, 3, 1});
  if (as_ops) {
    writer.Node("LayerNormalization", {"t", "g", "b"}, "n").With("epsilon", kEpsilon);
  } else {
    writer.Floats("two", {}, {2}).Floats("eps", {}, {kEpsilon});
    writer.Node("ReduceMean", {"t"}, "m").With("axes", Dims{-1});
    writer.Node("Sub", {"t", "m"}, "s").Node("Pow", {"s", "two"}, "p");
    writer.Node("ReduceMean", {"p"}, "v").With("axes", Dims{-1});
    writer.Node("Add", {"v", "eps"}, "e").Node("Sqrt", {"e"}, "d").Node("Div", {"s", "d"}, "q");
    writer.Node("Mul", {"q", "g"}, "u").Node("Add", {"u", "b"}, "n");
  }
  writer.Node("MatMul", {"n", "w1"}, "p1").Node("Add", {"b1", "p1"}, "a");
  if (as_ops) {
    writer.Node("Gelu", {"a"}, "h");
  } else {
    writer.Floats("root", {}, {std::numbers::sqrt2_v<float>}).Floats("one", {}, {1});
    writer.Floats("half", {}, {0.5f}).Node("Div", {"a", "root"}, "r").Node("Erf", {"r"}, "f");
    writer.Node("Add", {"f", "one"}, "o").Node("Mul", {"a", "o"}, "z");
    writer.Node("Mul", {"z", "half"}, "h");
  }
  writer.Node("MatMul", {"h", "w2"}, "p2").Node("Add", {"b2", "p2"}, "k");
  writer.Node("Transpose", {"k"}, "i").With("perm", Dims{0, 3, 1, 2});
  writer.Node("Mul", {"ls", "i"}, "l").Node("Add", {"l", "x"}, "y");
  return writer;
}

double Gelu(double x) { return x * (1 + std::erf(x / std::numbers::sqrt2)) / 2; }

// The residual of one pixel: `channels` is what the depthwise convolution gave.
std::vector<double> NaivePixel(const Weights& w, const std::vector<double>& channels) {
  const auto n = static_cast<double>(kChannels);
  double mean = 0, variance = 0;
  for (const double value : channels) mean += value / n;
  for (const double value : channels) variance += (value - mean) * (value - mean) / n;
  std::vector<double> wide(w.wide_bias.begin(), w.wide_bias.end());
  for (size_t c = 0; c < channels.size(); ++c) {
    const double normal = (channels[c] - mean) / std::sqrt(variance + double{kEpsilon});
    const double value = normal * double{w.scale[c]} + double{w.offset[c]};
    for (size_t k = 0; k < wide.size(); ++k)
      wide[k] += value * double{w.widen[c * wide.size() + k]};
  }
  std::vector<double> result(w.narrow_bias.begin(), w.narrow_bias.end());
  for (size_t c = 0; c < result.size(); ++c) {
    for (size_t k = 0; k < wide.size(); ++k)
      result[c] += Gelu(wide[k]) * double{w.narrow[k * result.size() + c]};
    result[c] *= double{w.layer_scale[c]};
  }
  return result;
}

Array NaiveBlock(Array x) {
  const Weights w;
  Array conv = NaiveConv(x, w.depthwise, {.pads = {3, 3, 3, 3}, .groups = kChannels});
  Array y = Zeros(x.dims);
  for (int64_t n = 0; n < x.dims[0]; ++n)
    for (int64_t h = 0; h < x.dims[2]; ++h)
      for (int64_t v = 0; v < x.dims[3]; ++v) {
        std::vector<double> channels;
        for (int64_t c = 0; c < kChannels; ++c)
          channels.push_back(double{At(conv, n, c, h, v)} +
                             double{w.depthwise_bias[static_cast<size_t>(c)]});
        const std::vector<double> residual = NaivePixel(w, channels);
        for (int64_t c = 0; c < kChannels; ++c)
          At(y, n, c, h, v) =
              static_cast<float>(residual[static_cast<size_t>(c)] + double{At(x, n, c, h, v)});
      }
  return y;
}

Array Images() { return {kImages, Ramp(ElementCount(kImages))}; }

class OnnxConvNext : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(AsOps, OnnxConvNext, testing::Bool());

TEST_P(OnnxConvNext, GivesWhatItsDefinitionSays) {
  const auto file = ParseOnnx(Block(GetParam()).Bytes(), "test.onnx");
  const Array expected = NaiveBlock(Images()), result = RunFile(*file, {Images()})[0];
  EXPECT_EQ(result.dims, expected.dims);
  EXPECT_THAT(result.values, Pointwise(FloatNear(2e-5f), expected.values));
}

struct Optimized {
  Graph graph;
  std::string fetch;

  explicit Optimized(const OnnxWriter& writer) {
    const auto file = ParseOnnx(writer.Bytes(), "test.onnx");
    Graph whole;
    GraphBuilder builder(&whole);
    const Output x = builder.Placeholder("x", file->Inputs(kImages[0])[0].Ours());
    const Output y = file->Build(&builder, {x}, {.batch = kImages[0]})[0].output;
    fetch = whole.At(y.node).name;
    whole.Build();
    OptimizeForInference(whole, {fetch}, {}, &graph);
    graph.Build();
  }
};

TEST_P(OnnxConvNext, IsFourNodesOnceOptimised) {
  const Optimized block(Block(GetParam()));
  Ops ops;
  for (const Node& node : block.graph.Nodes()) {
    if (node.op != "Const") ops.push_back(node.op);
  }
  EXPECT_EQ(
      ops, (Ops{"Placeholder", "_FusedConv2D", "_FusedLayerNorm", "_FusedConv2D", "_FusedConv2D"}));
  const Node& widening = block.graph.At(block.graph.Nodes().back().inputs[0].node);
  EXPECT_EQ(GetAttribute<std::string>(widening, "activation"), "Gelu");
  EXPECT_EQ(block.graph.Nodes().back().inputs.size(), 4u);  // The residual.
}

TEST_P(OnnxConvNext, GivesTheSameBitsHoweverManyThreadsWork) {
  const Optimized block(Block(GetParam()));
  const Array given = Images(), expected = NaiveBlock(given);
  const Tensor images = SwapChannels(Tensor::Of(Shape(given.dims), std::span(given.values)), true);
  for (const int piece_time : {0, 1}) {
    Session session(block.graph, {.intra_op_parallelism_threads = 4,
                                  .piece_time = std::chrono::microseconds(piece_time)});
    std::vector<Tensor> results;
    for (const int active : {4, 1, 2, 3}) {
      session.Resize(CpuSet::Range(0, 3), {1, active});
      results.push_back(session.Run({{"x", images}}, {block.fetch})[0]);
      EXPECT_EQ(std::memcmp(results[0].Data(), results.back().Data(), results[0].Bytes()), 0);
    }
    const Tensor result = SwapChannels(results[0], false);
    EXPECT_THAT(std::vector<float>(result.Floats(), result.Floats() + result.Elements()),
                Pointwise(FloatNear(5e-5f), expected.values));
  }
}

// The weights are trainable as those of convolutions are, and gradients go through both forms.
TEST_P(OnnxConvNext, Trains) {
  const auto file = ParseOnnx(Block(GetParam()).Bytes(), "test.onnx");
  Graph graph;
  GraphBuilder builder(&graph);
  const Output x = builder.Placeholder("x", file->Inputs(2)[0].Ours());
  const Output y = file->Build(&builder, {x}, {.batch = 2, .training = true})[0].output;
  const auto gradients = builder.Gradients(builder.MeanAll(y), builder.TrainableVariables());
  EXPECT_GE(gradients.size(), 7u);
  for (const Output& gradient : gradients) EXPECT_NE(gradient.node, -1);
  graph.Build();
}

std::vector<float> ValuesOf(OnnxWriter& writer, const Array& x) {
  writer.Input("x", x.dims).Output("y");
  return RunFile(*ParseOnnx(writer.Bytes(), "test.onnx"), {x})[0].values;
}

TEST(OnnxPowers, HaveShortForms) {
  const Array x{{1, 2, 1, 2}, {1, 4, 9, 0.25f}};
  const auto power = [&](float exponent) {
    OnnxWriter writer;
    return ValuesOf(writer.Floats("e", {1}, {exponent}).Node("Pow", {"x", "e"}, "y"), x);
  };
  EXPECT_THAT(power(1), testing::ElementsAre(1, 4, 9, 0.25f));
  EXPECT_THAT(power(2), testing::ElementsAre(1, 16, 81, 0.0625f));
  EXPECT_THAT(power(0.5f), testing::ElementsAre(1, 2, 3, 0.5f));
  OnnxWriter root, erf;
  EXPECT_EQ(ValuesOf(root.Node("Sqrt", {"x"}, "y"), x), power(0.5f));
  EXPECT_THAT(ValuesOf(erf.Node("Erf", {"x"}, "y"), x),
              Pointwise(FloatNear(1e-6f), std::vector<float>{0.842700793f, 1, 1, 0.276326390f}));
}

// Over channels, rows and columns of the file, without an offset; ours lie in another order.
TEST(OnnxLayerNorm, IsOfTheFilesLastDimensions) {
  const Array x{{1, 2, 1, 2}, {1, 2, 3, 6}};  // Mean 3, variance 3.5.
  OnnxWriter writer(17);
  writer.Floats("s", {2, 1, 2}, {1, 2, 3, 4}).Node("LayerNormalization", {"x", "s"}, "y");
  writer.With("axis", int64_t{1}).With("epsilon", 0.5f);
  EXPECT_THAT(ValuesOf(writer, x), Pointwise(FloatNear(1e-6f), std::vector<float>{-1, -1, 0, 6}));
}

// From opset 18 on, axes are an input; without them it may mean all or none.
TEST(OnnxReduceMean, TakesItsAxesFromAnInput) {
  const Array x{{1, 2, 1, 2}, {1, 2, 3, 6}};
  OnnxWriter last(18), all(18), none(18);
  last.Ints("axes", {1}, {-1}).Node("ReduceMean", {"x", "axes"}, "y");
  EXPECT_THAT(ValuesOf(last, x), testing::ElementsAre(1.5f, 4.5f));
  EXPECT_THAT(ValuesOf(all.Node("ReduceMean", {"x"}, "y"), x), testing::ElementsAre(3));
  none.Node("ReduceMean", {"x"}, "y").With("noop_with_empty_axes", int64_t{1});
  EXPECT_EQ(ValuesOf(none, x), x.values);
}

}  // namespace
}  // namespace cosched
