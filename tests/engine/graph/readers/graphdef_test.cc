// Networks of frozen GraphDefs give what TensorFlow's definitions say; bad files are told by node
// and op.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/engine/graph/readers/graphdef_writer.h"
#include "tests/engine/graph/readers/read_and_run.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Array RunGraphDef(const GraphDefWriter& writer, const Array& input) {
  return RunFile(*ParseGraphDef(writer.Bytes(), "test.pb"), {input})[0];
}

std::string Message(const GraphDefWriter& writer, const Array& input = {{1, 2, 2, 1}, Ramp(4)}) {
  try {
    RunGraphDef(writer, input);
    return "";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("test.pb"));
    return error.what();
  }
}

// Two filters of 2x2 of ones and of twos over a 3x3 image by strides of 2, one row and column of
// padding at the end, then a bias and batch normalisation.
TEST(GraphDefReader, Convolutions) {
  GraphDefWriter writer;
  writer.Placeholder("x", {-1, 3, 3, 1}).Floats("w", {2, 2, 1, 2}, {1, 2, 1, 2, 1, 2, 1, 2});
  writer.Floats("b", {2}, {1, 0}).Floats("one", {2}, {1}).Floats("zero", {2}, {0});
  writer.Node("Conv2D", "c", {"x", "w"}).With("strides", {1, 2, 2, 1}).With("padding", "SAME");
  writer.Node("BiasAdd", "a", {"c:0", "b", "^x"});
  writer.Node("FusedBatchNormV3", "n", {"a", "one", "one", "zero", "one"}).With("epsilon", 0.0f);
  writer.With("is_training", false).Node("Identity", "y", {"n"});
  const Array y = RunGraphDef(writer, {{1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}});
  EXPECT_EQ(y.dims, (Dims{1, 2, 2, 2}));
  EXPECT_THAT(y.values, ElementsAre(14, 25, 11, 19, 17, 31, 11, 19));
}

TEST(GraphDefReader, DepthwiseConvolutions) {
  GraphDefWriter writer;
  writer.Placeholder("x", {1, 1, 2, 2}).Floats("w", {1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  writer.Node("DepthwiseConv2dNative", "y", {"x", "w"}).With("strides", {1, 1, 1, 1});
  writer.With("padding", "VALID");
  // Channel 0 holds 1, 3, channel 1 holds 10, 30.
  EXPECT_THAT(RunGraphDef(writer, {{1, 1, 2, 2}, {1, 10, 3, 30}}).values,
              ElementsAre(16, 20, 240, 280));
}

TEST(GraphDefReader, TransposedConvolutions) {
  GraphDefWriter writer;
  writer.Placeholder("x", {1, 1, 2, 1}).Floats("w", {1, 2, 1, 1}, {1, 10});
  writer.Ints("size", {4}, {1, 1, 4, 1}).Node("Conv2DBackpropInput", "y", {"size", "w", "x"});
  writer.With("strides", {1, 1, 2, 1}).With("padding", "VALID");
  EXPECT_THAT(RunGraphDef(writer, {{1, 1, 2, 1}, {2, 3}}).values, ElementsAre(2, 20, 3, 30));
}

TEST(GraphDefReader, Pools) {
  GraphDefWriter writer;
  writer.Placeholder("x", {1, 3, 3, 1}).Ints("axis", {}, {3});
  for (const auto& [op, name] : {std::pair("MaxPool", "m"), std::pair("AvgPool", "a")}) {
    writer.Node(op, name, {"x"}).With("ksize", {1, 2, 2, 1}).With("strides", {1, 2, 2, 1});
    writer.With("padding", "SAME");
  }
  writer.Node("ConcatV2", "y", {"m", "a", "axis"});
  EXPECT_THAT(RunGraphDef(writer, {{1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}).values,
              ElementsAre(5, 3, 6, 4.5f, 8, 7.5f, 9, 9));
}

// Nodes in any order, the batch through Shape, StridedSlice and Pack, normalisation written out.
TEST(GraphDefReader, ShapeChainsAndFoldedConstants) {
  GraphDefWriter writer;
  writer.Node("Softmax", "y", {"logits"}).Node("Add", "logits", {"product", "b"});
  writer.Node("MatMul", "product", {"flat", "scaled"});
  writer.Node("Reshape", "flat", {"x", "shape"}).Node("Pack", "shape", {"batch", "four"});
  writer.Node("StridedSlice", "batch", {"s", "zero", "one", "one"}).With("shrink_axis_mask", 1);
  writer.Node("Shape", "s", {"x"}).Placeholder("x", {-1, 2, 2, 1}).Ints("four", {}, {4});
  writer.Ints("zero", {1}, {0}).Ints("one", {1}, {1}).Floats("w", {4, 2}, {1, 0, 0, 1, 1, 0, 0, 1});
  writer.Floats("variance", {2}, {0.25f}).Node("Rsqrt", "scale", {"variance"});
  writer.Node("Mul", "scaled", {"w", "scale"}).Floats("b", {2}, {0, 1});
  const Array y = RunGraphDef(writer, {{2, 2, 2, 1}, {1, 1, 0, 0, 0, 2, 1, 0}});
  EXPECT_EQ(y.dims, (Dims{2, 2}));
  const float first = 1 / (1 + std::exp(1.0f));   // 2 against 2 + 1.
  const float second = 1 / (1 + std::exp(3.0f));  // 2 against 4 + 1.
  EXPECT_THAT(y.values, Pointwise(FloatNear(1e-6f),
                                  std::vector<float>{first, 1 - first, second, 1 - second}));
}

TEST(GraphDefReader, ArraysAndActivations) {
  GraphDefWriter writer;
  writer.Placeholder("x", {1, 1, 2, 2}).Ints("p", {4, 2}, {0, 0, 1, 0, 0, 0, 0, 0});
  writer.Ints("axes", {2}, {1, 2}).Node("Pad", "padded", {"x", "p"}).Node("Relu6", "r", {"padded"});
  writer.Node("Mean", "m", {"r", "axes"}).With("keep_dims", true).Node("Squeeze", "y", {"m"});
  writer.With("squeeze_dims", {1, 2});
  const Array y = RunGraphDef(writer, {{1, 1, 2, 2}, {4, -1, 8, 2}});
  EXPECT_EQ(y.dims, (Dims{1, 2}));
  EXPECT_THAT(y.values, ElementsAre(2.5f, 0.5f));
}

TEST(GraphDefReader, WeightsTrain) {
  GraphDefWriter writer;
  writer.Placeholder("x", {-1, 2, 2, 1}).Floats("w", {1, 1, 1, 3}, {1}).Floats("b", {3}, {1});
  writer.Node("Conv2D", "c", {"x", "w"}).With("strides", {1, 1, 1, 1}).With("padding", "SAME");
  writer.Node("FusedBatchNorm", "y", {"c", "b", "b", "b", "b"}).With("is_training", false);
  const auto file = ParseGraphDef(writer.Bytes(), "test.pb");
  Graph graph;
  GraphBuilder builder(&graph);
  file->Build(&builder, {builder.Placeholder("x", {4, 2, 2, 1})}, {.batch = 4, .training = true});
  EXPECT_EQ(std::ranges::count(graph.Nodes(), "AssignMovingAverage", &Node::op), 2);
  EXPECT_EQ(builder.TrainableVariables().size(), 2u);  // w, and b which is scale and offset.
}

TEST(GraphDefReader, Errors) {
  const auto image = [] {
    GraphDefWriter writer;
    writer.Placeholder("x", {1, 2, 2, 1}).Floats("w", {1, 1, 1, 1}, {1});
    return writer;
  };
  GraphDefWriter unknown = image(), format = image(), missing = image(), twice = image();
  GraphDefWriter cycle = image(), bomb = image(), training = image(), strides = image();
  EXPECT_THAT(Message(unknown.Node("Zap", "y", {"x"})), HasSubstr("node \"y\" (Zap): unknown op"));
  format.Node("Conv2D", "y", {"x", "w"}).With("strides", {1, 1, 1, 1}).With("padding", "SAME");
  EXPECT_THAT(Message(format.With("data_format", "NCHW")),
              HasSubstr("(Conv2D): data_format is \"NCHW\"; allowed: NHWC"));
  EXPECT_THAT(Message(missing.Node("Relu", "y", {"z"})), HasSubstr("(Relu): nothing gives \"z\""));
  EXPECT_THAT(Message(twice.Node("Relu", "w", {"x"})), HasSubstr("another node has this name"));
  cycle.Node("Relu", "a", {"b"}).Node("Relu", "b", {"a"}).Node("Relu", "y", {"b"});
  EXPECT_THAT(Message(cycle), HasSubstr("depends on it"));
  bomb.Floats("big", {1 << 15, 1 << 15}, {0}).Node("Add", "y", {"x", "big"});
  EXPECT_THAT(Message(bomb), HasSubstr("node \"big\" (Const): 1073741824 elements"));
  training.Node("FusedBatchNorm", "y", {"x", "w", "w", "w", "w"}).With("is_training", true);
  EXPECT_THAT(Message(training), HasSubstr("(FusedBatchNorm): is_training is true"));
  strides.Node("Conv2D", "y", {"x", "w"}).With("strides", {1, 1}).With("padding", "SAME");
  EXPECT_THAT(Message(strides), HasSubstr("(Conv2D): attribute strides is [1,1]"));
  EXPECT_THAT(Message(GraphDefWriter()), HasSubstr("holds no nodes"));
}

}  // namespace
}  // namespace cosched
