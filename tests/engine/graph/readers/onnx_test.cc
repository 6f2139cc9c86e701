// Networks of ONNX files give what ONNX's definitions of their ops say, whatever the order in which
// our graph holds their values.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/graph/readers/onnx_writer.h"
#include "tests/engine/graph/readers/read_and_run.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

Array RunOnnx(const OnnxWriter& writer, const std::vector<Array>& inputs) {
  return RunFile(*ParseOnnx(writer.Bytes(), "test.onnx"), inputs)[0];
}

void ExpectArray(const Array& result, const Dims& dims, const std::vector<float>& values) {
  EXPECT_EQ(result.dims, dims);
  EXPECT_THAT(result.values, Pointwise(FloatNear(1e-5f), values));
}

// The values of x, each through a function.
template <typename Function>
std::vector<float> Mapped(std::vector<float> x, Function function) {
  for (float& value : x) value = function(value);
  return x;
}

int CountOps(const OnnxWriter& writer, const std::string& op) {
  const auto file = ParseOnnx(writer.Bytes(), "test.onnx");
  Graph graph;
  GraphBuilder builder(&graph);
  const auto input = file->Inputs(2)[0];
  file->Build(&builder, {builder.Placeholder("x", input.Ours())}, {.batch = 2});
  int count = 0;
  for (const Node& node : graph.Nodes()) count += node.op == op ? 1 : 0;
  return count;
}

// The features of an image, flattened channels first, against a plain product: the matrix is put
// into the order in which the image is held, and nothing is transposed at run time.
TEST(Onnx, FlattenedImagesMeetTheRightRows) {
  const std::vector<float> weights = Ramp(12 * 4);
  const std::vector<float> images = Ramp(2 * 12, 0.3f);
  std::vector<float> expected;
  for (size_t n = 0; n < 2; ++n) {
    for (size_t k = 0; k < 4; ++k) {
      float sum = 0;
      for (size_t i = 0; i < 12; ++i) {
        sum += std::max(images[12 * n + i], 0.0f) * weights[4 * i + k];
      }
      expected.push_back(sum);
    }
  }
  OnnxWriter writer;
  writer.Input("x", {-1, 2, 3, 2}).Floats("w", {12, 4}, weights).Output("y");
  writer.Node("Flatten", {"x"}, "f").Node("Relu", {"f"}, "r").Node("MatMul", {"r", "w"}, "y");
  ExpectArray(RunOnnx(writer, {{{2, 2, 3, 2}, images}}), {2, 4}, expected);
  EXPECT_EQ(CountOps(writer, "Transpose"), 0);

  OnnxWriter transposed;
  std::vector<float> columns;
  for (size_t k = 0; k < 4; ++k) {
    for (size_t i = 0; i < 12; ++i) columns.push_back(weights[4 * i + k]);
  }
  transposed.Input("x", {-1, 2, 3, 2}).Floats("w", {4, 12}, columns).Output("y");
  transposed.Node("Relu", {"x"}, "r").Node("Flatten", {"r"}, "f");
  transposed.Node("Gemm", {"f", "w"}, "y").With("transB", int64_t{1});
  ExpectArray(RunOnnx(transposed, {{{2, 2, 3, 2}, images}}), {2, 4}, expected);
  EXPECT_EQ(CountOps(transposed, "Transpose"), 0);
}

// Where nothing takes the features in another order, they are put into the file's.
TEST(Onnx, FlattenedImagesComeOutInTheFilesOrder) {
  OnnxWriter writer;
  writer.Input("x", {2, 2, 3, 2}).Output("y").Node("Flatten", {"x"}, "y");
  const std::vector<float> images = Ramp(24);
  ExpectArray(RunOnnx(writer, {{{2, 2, 3, 2}, images}}), {2, 12}, images);
}

TEST(Onnx, GemmScalesAndTransposes) {
  OnnxWriter writer;
  writer.Input("x", {3, 2}).Floats("w", {3, 2}, {1, 2, 3, 4, 5, 6}).Floats("c", {2, 1}, {10, 20});
  writer.Output("y").Node("Gemm", {"x", "w", "c"}, "y").With("alpha", 0.5f).With("beta", 2.0f);
  writer.With("transA", int64_t{1});
  ExpectArray(RunOnnx(writer, {{{3, 2}, {1, 0, 0, 1, 2, 2}}}), {2, 2}, {25.5f, 27, 46.5f, 48});
}

TEST(Onnx, ElementwiseOps) {
  const std::vector<float> x = {-4, -1, -0.2f, 0, 0.3f, 2, 5, 7};
  const auto run = [&](OnnxWriter& writer) {
    return RunOnnx(writer.Input("x", {1, 2, 2, 2}).Output("y"), {{{1, 2, 2, 2}, x}}).values;
  };
  const auto expect = [&](OnnxWriter& writer, float (*function)(float)) {
    EXPECT_THAT(run(writer), Pointwise(FloatNear(1e-5f), Mapped(x, function)));
  };
  OnnxWriter sigmoid, hard_sigmoid, swish, attribute_clip, input_clip, relu6, below;
  expect(sigmoid.Node("Sigmoid", {"x"}, "y"), [](float v) { return 1 / (1 + std::exp(-v)); });
  expect(hard_sigmoid.Node("HardSigmoid", {"x"}, "y"),
         [](float v) { return std::clamp(0.2f * v + 0.5f, 0.0f, 1.0f); });
  expect(swish.Node("HardSwish", {"x"}, "y"),
         [](float v) { return v * std::clamp(v / 6 + 0.5f, 0.0f, 1.0f); });
  expect(attribute_clip.Node("Clip", {"x"}, "y").With("min", -1.0f).With("max", 3.0f),
         [](float v) { return std::clamp(v, -1.0f, 3.0f); });
  input_clip.Floats("low", {}, {-2}).Floats("high", {}, {0.25f});
  expect(input_clip.Node("Clip", {"x", "low", "high"}, "y"),
         [](float v) { return std::clamp(v, -2.0f, 0.25f); });
  relu6.Floats("low", {}, {0}).Floats("high", {}, {6}).Node("Clip", {"x", "low", "high"}, "y");
  expect(relu6, [](float v) { return std::clamp(v, 0.0f, 6.0f); });
  expect(below.Floats("high", {}, {1}).Node("Clip", {"x", "", "high"}, "y"),
         [](float v) { return std::min(v, 1.0f); });
}

TEST(Onnx, HardSwishInTwoNodesBecomesOne) {
  OnnxWriter writer;
  writer.Input("x", {2, 1, 2, 1}).Output("y");
  writer.Node("HardSigmoid", {"x"}, "gate").With("alpha", 1.0f / 6).With("beta", 0.5f);
  writer.Node("Mul", {"gate", "x"}, "y");
  EXPECT_EQ(CountOps(writer, "HardSwish"), 1);
  EXPECT_EQ(CountOps(writer, "Mul"), 0);
  ExpectArray(RunOnnx(writer, {{{2, 1, 2, 1}, {-4, 0, 3, 1.5f}}}), {2, 1, 2, 1}, {0, 0, 3, 1.125f});
}

// Constants and gates by channel, which is not the last dimension of the file but is of ours.
TEST(Onnx, BroadcastsByTheFilesDimensions) {
  const Array x{{1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  OnnxWriter writer;
  writer.Input("x", x.dims).Floats("c", {2, 1, 1}, {10, 20}).Floats("w", {2}, {1, 2}).Output("y");
  writer.Node("Add", {"x", "c"}, "a").Node("Mul", {"w", "a"}, "m");
  writer.Node("GlobalAveragePool", {"m"}, "g").Node("Sub", {"m", "g"}, "s");
  writer.Floats("two", {1}, {2}).Node("Div", {"s", "two"}, "y");
  // 11 24 13 28 | 25 52 27 56 less their means 19 and 40, by 2.
  ExpectArray(RunOnnx(writer, {x}), x.dims, {-4, 2.5f, -3, 4.5f, -7.5f, 6, -6.5f, 8});
}

TEST(Onnx, ArraysMoveByTheFilesDimensions) {
  const Array x{{1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  OnnxWriter shuffle;  // A shuffle of channels, as ShuffleNet's.
  shuffle.Input("x", x.dims).Ints("s", {5}, {1, 2, 2, 1, 2}).Ints("t", {4}, {0, 4, 1, -1});
  shuffle.Output("y").Node("Reshape", {"x", "s"}, "a").Node("Transpose", {"a"}, "b");
  shuffle.With("perm", Dims{0, 2, 1, 3, 4}).Node("Reshape", {"b", "t"}, "y");
  ExpectArray(RunOnnx(shuffle, {x}), x.dims, {1, 2, 5, 6, 3, 4, 7, 8});

  OnnxWriter parts;
  parts.Input("x", x.dims).Ints("from", {1}, {-3}).Ints("to", {1}, {9}).Ints("axis", {1}, {1});
  parts.Ints("third", {}, {2}).Output("y").Node("Slice", {"x", "from", "to", "axis"}, "s");
  parts.Node("Gather", {"x", "third"}, "g").With("axis", int64_t{1});
  parts.Node("Unsqueeze", {"g", "axis"}, "u");
  parts.Node("Concat", {"s", "u"}, "y").With("axis", int64_t{-3});
  ExpectArray(RunOnnx(parts, {x}), {1, 4, 1, 2}, {3, 4, 5, 6, 7, 8, 5, 6});

  OnnxWriter padded;
  padded.Input("x", x.dims).Ints("pads", {8}, {0, 1, 0, 0, 0, 0, 0, 1}).Floats("v", {}, {9});
  padded.Output("y").Node("Pad", {"x", "pads", "v"}, "y");
  ExpectArray(RunOnnx(padded, {x}), {1, 5, 1, 3}, {9, 9, 9, 1, 2, 9, 3, 4, 9, 5, 6, 9, 7, 8, 9});

  OnnxWriter mean;
  mean.Input("x", x.dims).Output("y").Node("ReduceMean", {"x"}, "y").With("axes", Dims{-1, 2});
  mean.With("keepdims", int64_t{0});
  ExpectArray(RunOnnx(mean, {x}), {1, 4}, {1.5f, 3.5f, 5.5f, 7.5f});
}

// As exported from TensorFlow: the input is channels last and transposed at once.
TEST(Onnx, InputsThatAreTransposedComeAsTheyAre) {
  OnnxWriter writer;
  writer.Input("x", {-1, 2, 3, 4}).Floats("w", {5, 4, 1, 1}, Ramp(20)).Output("y");
  writer.Node("Transpose", {"x"}, "t").With("perm", Dims{0, 3, 1, 2});
  writer.Node("Conv", {"t", "w"}, "y");
  EXPECT_EQ(CountOps(writer, "Transpose"), 0);
  const auto file = ParseOnnx(writer.Bytes(), "test.onnx");
  EXPECT_FALSE(file->Inputs(1)[0].channels_first);
  EXPECT_EQ(file->Inputs(1)[0].Ours(), Shape({1, 2, 3, 4}));
}

TEST(Onnx, SoftmaxFollowsItsOpset) {
  const Array x{{1, 2, 2}, {0, 1, 2, 3}};
  const auto softmax = [&](int64_t opset) {
    OnnxWriter writer(opset);
    writer.Input("x", x.dims).Output("y").Node("Softmax", {"x"}, "y").With("axis", int64_t{1});
    return RunOnnx(writer, {x}).values;
  };
  const float e = std::exp(1.0f), all = 1 + e + e * e + e * e * e;
  EXPECT_THAT(softmax(12),
              Pointwise(FloatNear(1e-6f),
                        std::vector<float>{1 / all, e / all, e * e / all, e * e * e / all}));
  const float low = 1 / (1 + e * e);
  EXPECT_THAT(softmax(13),
              Pointwise(FloatNear(1e-6f), std::vector<float>{low, low, 1 - low, 1 - low}));
}

TEST(Onnx, LocalResponseDividesAlphaByItsSize) {
  OnnxWriter writer;
  writer.Input("x", {1, 3, 1, 1}).Output("y").Node("LRN", {"x"}, "y").With("size", int64_t{3});
  writer.With("alpha", 3.0f).With("beta", 1.0f).With("bias", 1.0f);
  ExpectArray(RunOnnx(writer, {{{1, 3, 1, 1}, {1, 2, 3}}}), {1, 3, 1, 1},
              {1.0f / 6, 2.0f / 15, 3.0f / 14});
}

// The batch goes through Shape, Gather, Unsqueeze and Concat into a Reshape, as exporters write it.
class OnnxShapeChain : public testing::TestWithParam<int64_t> {};

TEST_P(OnnxShapeChain, IsWorkedOutWithTheBatch) {
  const int64_t opset = GetParam();
  OnnxWriter writer(opset);
  writer.Input("x", {-1, 2, 3, 1}).Ints("zero", {}, {0}).Ints("axis", {1}, {0}).Output("y");
  writer.Ints("three", {}, {3}).Node("Shape", {"x"}, "s").Node("Gather", {"s", "zero"}, "n");
  if (opset < 13) {
    writer.Node("Unsqueeze", {"n"}, "u").With("axes", Dims{0});
    writer.Node("Unsqueeze", {"three"}, "v").With("axes", Dims{0});
  } else {
    writer.Node("Unsqueeze", {"n", "axis"}, "u").Node("Unsqueeze", {"three", "axis"}, "v");
  }
  writer.Node("Concat", {"u", "v"}, "c").With("axis", int64_t{0});
  writer.Node("ConstantOfShape", {"axis"}, "none");  // Nobody reads it.
  writer.Ints("minus", {1}, {-1}).Node("Concat", {"c", "minus"}, "d").With("axis", int64_t{0});
  writer.Node("Cast", {"d"}, "e").With("to", int64_t{7}).Node("Reshape", {"x", "e"}, "y");
  for (const int64_t batch : {1, 3}) {
    const std::vector<float> values = Ramp(6 * batch);
    ExpectArray(RunOnnx(writer, {{{batch, 2, 3, 1}, values}}), {batch, 3, 2}, values);
  }
}

INSTANTIATE_TEST_SUITE_P(Opsets, OnnxShapeChain, testing::Values(11, 13, 17));

// The second and the third of {1, 2, 3, 1}.
TEST(Onnx, ShapeGivesTheDimensionsFromStartToEnd) {
  for (const auto& [start, end] : {std::pair(1, 3), {-3, -1}, {-3, 3}}) {
    OnnxWriter writer(15);
    writer.Input("x", {1, 2, 3, 1}).Output("y").Node("Shape", {"x"}, "s");
    writer.With("start", int64_t{start}).With("end", int64_t{end});
    writer.Node("Reshape", {"x", "s"}, "y");
    ExpectArray(RunOnnx(writer, {{{1, 2, 3, 1}, Ramp(6)}}), {2, 3}, Ramp(6));
  }
  OnnxWriter writer(15);
  writer.Input("x", {2, 1}).Output("y").Node("Shape", {"x"}, "s").With("start", int64_t{1});
  writer.With("end", int64_t{99}).Ints("minus", {1}, {-1}).Node("Concat", {"minus", "s"}, "c");
  writer.With("axis", int64_t{0}).Node("Reshape", {"x", "c"}, "y");
  ExpectArray(RunOnnx(writer, {{{2, 1}, Ramp(2)}}), {2, 1}, Ramp(2));
}

TEST(Onnx, BatchNormalizationInfers) {
  OnnxWriter writer;
  writer.Input("x", {1, 2, 1, 1}).Floats("s", {2}, {2, 3}).Floats("b", {2}, {1, -1}).Output("y");
  writer.Floats("m", {2}, {1, 2}).Floats("v", {2}, {4, 9});
  writer.Node("BatchNormalization", {"x", "s", "b", "m", "v"}, "y").With("epsilon", 0.0f);
  ExpectArray(RunOnnx(writer, {{{1, 2, 1, 1}, {3, 5}}}), {1, 2, 1, 1}, {3, 2});
}

OnnxWriter Trainable() {
  OnnxWriter writer;
  writer.Input("x", {-1, 2, 3, 3}).Floats("conv:w", {4, 2, 3, 3}, Ramp(72)).Output("y");
  for (const char* name : {"s", "b", "m", "v"}) writer.Floats(name, {4}, {1, 2, 3, 4});
  writer.Floats("fc", {4, 5}, Ramp(20)).Floats("fc_bias", {5}, Ramp(5));
  writer.Node("Conv", {"x", "conv:w"}, "c");
  writer.Node("BatchNormalization", {"c", "s", "b", "m", "v"}, "n").With("momentum", 0.7f);
  writer.Node("Flatten", {"n"}, "f").Node("MatMul", {"f", "fc"}, "p");
  writer.Node("Add", {"p", "fc_bias"}, "a").Node("Softmax", {"a"}, "y");
  return writer;
}

TEST(Onnx, WeightsTrain) {
  const auto file = ParseOnnx(Trainable().Bytes(), "test.onnx");
  Graph graph;
  GraphBuilder builder(&graph);
  const Output x = builder.Placeholder("x", {2, 3, 3, 2});
  const Output logits =
      file->Build(&builder, {x}, {.batch = 2, .training = true, .logits = true})[0].output;
  std::vector<std::string> names;
  for (const Output& variable : builder.TrainableVariables()) {
    names.push_back(graph.At(variable.node).name);
  }
  EXPECT_THAT(names, ElementsAre("conv_w", "s", "b", "fc", "fc_bias"));
  EXPECT_EQ(std::ranges::count(graph.Nodes(), "AssignMovingAverage", &Node::op), 2);
  EXPECT_NE(graph.At(logits.node).op, "Softmax");
  const auto gradients = builder.Gradients(builder.MeanAll(logits), builder.TrainableVariables());
  for (const Output& gradient : gradients) EXPECT_NE(gradient.node, -1);
  graph.Build();
}

TEST(Onnx, BatchSizesShareTheirVariables) {
  const auto file = ParseOnnx(Trainable().Bytes(), "test.onnx");
  Graph graph;
  GraphBuilder builder(&graph);
  for (const int64_t batch : {1, 4}) {
    const Output x = builder.Placeholder("x" + std::to_string(batch), {batch, 3, 3, 2});
    const auto built = file->Build(&builder, {x}, {.batch = batch});
    EXPECT_EQ(built[0].interface.shape, Shape({batch, 5}));
  }
  int variables = 0;
  for (const Node& node : graph.Nodes()) variables += node.op == "VariableV2" ? 1 : 0;
  EXPECT_EQ(variables, 7);
}

TEST(Onnx, SeveralInputsAndOutputs) {
  OnnxWriter writer;
  writer.Input("a", {1, 2}).Input("b", {1, 2}).Output("sum").Output("difference");
  writer.Node("Sub", {"a", "b"}, "difference").Node("Add", {"a", "b"}, "sum");
  const auto results =
      RunFile(*ParseOnnx(writer.Bytes(), "t"), {{{1, 2}, {5, 7}}, {{1, 2}, {2, 3}}});
  EXPECT_THAT(results[0].values, ElementsAre(7, 10));
  EXPECT_THAT(results[1].values, ElementsAre(3, 4));
}

}  // namespace
}  // namespace cosched
