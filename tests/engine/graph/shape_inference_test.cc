// Which output shapes each op infers, and which nodes it refuses with which message.

#include <gtest/gtest.h>

#include <functional>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/graph/ops.h"

namespace cosched {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

class ShapeInferenceTest : public ::testing::Test {
 protected:
  Output Value(const Shape& shape, const std::string& type = "float") {
    return {graph_.Add("Placeholder", "", {}, {{"shape", shape.Sizes()}, {"dtype", type}})};
  }
  Output Variable(const Shape& shape) {
    return {graph_.Add("VariableV2", "", {}, {{"initial", Tensor(shape)}})};
  }
  std::vector<std::string> Shapes(const std::string& op, const std::vector<Output>& inputs,
                                  const Attributes& attributes = {}) {
    std::vector<std::string> shapes;
    for (const OutputInfo& info : graph_.At(graph_.Add(op, "", inputs, attributes)).outputs) {
      shapes.push_back(info.shape.ToString());
    }
    return shapes;
  }
  std::string Error(const std::string& op, const std::vector<Output>& inputs,
                    const Attributes& attributes = {}) {
    try {
      graph_.Add(op, "bad", inputs, attributes);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  Graph graph_;
};

using Strings = std::vector<std::string>;

TEST_F(ShapeInferenceTest, SourcesHaveTheShapeOfTheirValue) {
  EXPECT_EQ(Shapes("Placeholder", {}, {{"shape", Ints{2, 3}}}), Strings{"[2,3]"});
  EXPECT_EQ(Shapes("Const", {}, {{"value", Tensor::Scalar(1)}}), Strings{"[]"});
  EXPECT_EQ(Shapes("VariableV2", {}, {{"initial", Tensor({4})}}), Strings{"[4]"});
  EXPECT_EQ(graph_.Info(Value({3}, "int32")).type, DataType::kInt32);
}

TEST_F(ShapeInferenceTest, PlaceholderRefusesBadShapesAndTypes) {
  EXPECT_EQ(Error("Placeholder", {}, {{"shape", Ints{2, 0}}}),
            "node \"bad\" (Placeholder): shape [2,0] has a size below 1");
  EXPECT_EQ(Error("Placeholder", {}, {{"shape", Ints{2}}, {"dtype", std::string("half")}}),
            "node \"bad\" (Placeholder): dtype is \"half\"; allowed: \"float\" or \"int32\"");
  EXPECT_EQ(Error("Placeholder", {}, {{"shape", Ints{1 << 21, 1 << 20}}}),
            "node \"bad\" (Placeholder): shape [2097152,1048576] is too large; allowed: at most "
            "2^40 elements");
}

TEST_F(ShapeInferenceTest, ConvolutionCountsWindowsAsTensorFlow) {
  const Output image = Value({2, 9, 8, 3});
  const Output filter = Value({3, 3, 3, 5});
  const std::string same = "SAME", valid = "VALID";
  const auto shape = [&](int64_t stride, const std::string& padding) {
    return Shapes("Conv2D", {image, filter},
                  {{"strides", Ints{stride, stride}}, {"padding", padding}})[0];
  };
  EXPECT_EQ(shape(1, same), "[2,9,8,5]");
  EXPECT_EQ(shape(2, same), "[2,5,4,5]");
  EXPECT_EQ(shape(1, valid), "[2,7,6,5]");
  EXPECT_EQ(shape(2, valid), "[2,4,3,5]");
}

TEST_F(ShapeInferenceTest, ConvolutionRefusesWhatDoesNotFit) {
  const Output image = Value({2, 4, 4, 3});
  const Attributes valid = {{"strides", Ints{1, 1}}, {"padding", std::string("VALID")}};
  EXPECT_EQ(Error("Conv2D", {image, Value({3, 3, 4, 5})}, valid),
            "node \"bad\" (Conv2D): image [2,4,4,3] does not fit filter [3,3,4,5]; allowed: image "
            "[N,H,W,C] and filter [R,S,C/groups,K], groups dividing C and K");
  EXPECT_EQ(Error("Conv2D", {image, Value({5, 5, 3, 1})}, valid),
            "node \"bad\" (Conv2D): a window of 5 does not fit into 4 with padding VALID");
  EXPECT_EQ(Error("Conv2D", {image, Value({3, 3, 3, 1})},
                  {{"strides", Ints{1, 0}}, {"padding", std::string("SAME")}}),
            "node \"bad\" (Conv2D): strides is [1,0]; allowed: {height, width}, both at least 1");
  EXPECT_EQ(Error("Conv2D", {image, Value({3, 3, 3, 1})},
                  {{"strides", Ints{1, 1}}, {"padding", std::string("same")}}),
            "node \"bad\" (Conv2D): padding is \"same\"; allowed: \"SAME\", \"VALID\" or "
            "\"EXPLICIT\"");
}

TEST_F(ShapeInferenceTest, ConvolutionGradientsHaveTheShapeOfWhatTheyAreFor) {
  const Attributes common = {{"strides", Ints{2, 2}}, {"padding", std::string("SAME")}};
  const Output dy = Value({2, 5, 4, 5});
  Attributes input = common, filter = common;
  input["input_shape"] = Ints{2, 9, 8, 3};
  filter["filter_shape"] = Ints{3, 3, 3, 5};
  EXPECT_EQ(Shapes("Conv2DBackpropInput", {Value({3, 3, 3, 5}), dy}, input)[0], "[2,9,8,3]");
  EXPECT_EQ(Shapes("Conv2DBackpropFilter", {Value({2, 9, 8, 3}), dy}, filter)[0], "[3,3,3,5]");
  input["input_shape"] = Ints{2, 12, 8, 3};
  EXPECT_EQ(Error("Conv2DBackpropInput", {Value({3, 3, 3, 5}), dy}, input),
            "node \"bad\" (Conv2DBackpropInput): input 1 has shape [2,5,4,5]; allowed: [2,6,4,5]");
}

TEST_F(ShapeInferenceTest, BiasMatchesTheLastDimension) {
  const Output x = Value({2, 3, 4});
  EXPECT_EQ(Shapes("BiasAdd", {x, Value({4})}), Strings{"[2,3,4]"});
  EXPECT_EQ(Shapes("BiasAddGrad", {x}), Strings{"[4]"});
  EXPECT_EQ(Error("BiasAdd", {x, Value({3})}),
            "node \"bad\" (BiasAdd): input 1 has shape [3]; allowed: [4]");
  EXPECT_EQ(Error("BiasAddGrad", {Value({})}), "node \"bad\" (BiasAddGrad): input 0 is a scalar");
}

TEST_F(ShapeInferenceTest, BatchNormGivesStatisticsByChannel) {
  const Output x = Value({2, 3, 3, 4});
  const Output c = Value({4});
  const Attributes attributes = {{"epsilon", 1e-5f}, {"is_training", true}};
  EXPECT_EQ(Shapes("FusedBatchNormV3", {x, c, c, c, c}, attributes),
            (Strings{"[2,3,3,4]", "[4]", "[4]"}));
  EXPECT_EQ(Shapes("FusedBatchNormGradV3", {x, x, c, c, c}, {{"epsilon", 1e-5f}}),
            (Strings{"[2,3,3,4]", "[4]", "[4]"}));
  EXPECT_EQ(Error("FusedBatchNormV3", {x, c, c, Value({5}), c}, attributes),
            "node \"bad\" (FusedBatchNormV3): input 3 has shape [5]; allowed: [4]");
}

TEST_F(ShapeInferenceTest, PoolsAndTheirGradients) {
  const Output x = Value({1, 7, 7, 2});
  const Attributes window = {
      {"ksize", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"padding", std::string("VALID")}};
  EXPECT_EQ(Shapes("MaxPool", {x}, window), Strings{"[1,3,3,2]"});
  EXPECT_EQ(Shapes("AvgPool", {x}, window), Strings{"[1,3,3,2]"});
  const Output y = Value({1, 3, 3, 2});
  EXPECT_EQ(Shapes("MaxPoolGrad", {x, y, y}, window), Strings{"[1,7,7,2]"});
  Attributes average = window;
  average["input_shape"] = Ints{1, 7, 7, 2};
  EXPECT_EQ(Shapes("AvgPoolGrad", {y}, average), Strings{"[1,7,7,2]"});
  EXPECT_EQ(Error("MaxPoolGrad", {x, y, x}, window),
            "node \"bad\" (MaxPoolGrad): input 2 has shape [1,7,7,2]; allowed: [1,3,3,2]");
  EXPECT_EQ(Error("MaxPool", {Value({7, 7})}, window),
            "node \"bad\" (MaxPool): input has shape [7,7]; allowed: [N,H,W,C]");
}

TEST_F(ShapeInferenceTest, MeanIsOverAnyAxes) {
  const Output x = Value({2, 3, 4, 5});
  EXPECT_EQ(Shapes("Mean", {x}, {{"axes", Ints{1, 2}}}), Strings{"[2,5]"});
  EXPECT_EQ(Shapes("Mean", {x}, {{"axes", Ints{0, 1, 2, 3}}}), Strings{"[]"});
  EXPECT_EQ(Shapes("MeanGrad", {Value({2, 5})},
                   {{"axes", Ints{1, 2}}, {"input_shape", Ints{2, 3, 4, 5}}}),
            Strings{"[2,3,4,5]"});
  EXPECT_EQ(Shapes("Mean", {x}, {{"axes", Ints{3, 1}}}), Strings{"[2,4]"});
  EXPECT_EQ(Shapes("Mean", {x}, {{"axes", Ints{3, 1}}, {"keep_dims", true}}), Strings{"[2,1,4,1]"});
  for (const Ints& axes : {Ints{4}, Ints{-1}, Ints{1, 1}}) {
    EXPECT_EQ(Error("Mean", {x}, {{"axes", axes}}),
              "node \"bad\" (Mean): axes are " + Shape(axes).ToString() +
                  " for shape [2,3,4,5]; allowed: dimensions from 0 on, each once");
  }
}

TEST_F(ShapeInferenceTest, MatMulTransposesEitherSide) {
  const Output a = Value({2, 3}), b = Value({3, 4});
  EXPECT_EQ(Shapes("MatMul", {a, b}), Strings{"[2,4]"});
  EXPECT_EQ(Shapes("MatMul", {b, a}, {{"transpose_a", true}, {"transpose_b", true}}),
            Strings{"[4,2]"});
  EXPECT_EQ(Error("MatMul", {a, b}, {{"transpose_a", true}}),
            "node \"bad\" (MatMul): inner sizes differ: [2,3]^T x [3,4]");
  EXPECT_EQ(Error("MatMul", {a, Value({3})}),
            "node \"bad\" (MatMul): input 1 has shape [3]; allowed: 2 dimensions");
}

TEST_F(ShapeInferenceTest, ElementwiseOpsKeepTheShape) {
  const Output x = Value({2, 3});
  for (const char* op : {"AddN", "ReluGrad", "SigmoidGrad"}) {
    EXPECT_EQ(Shapes(op, {x, x}), Strings{"[2,3]"}) << op;
    EXPECT_EQ(Error(op, {x, Value({3, 2})}),
              "node \"bad\" (" + std::string(op) + "): input 1 has shape [3,2]; allowed: [2,3]");
  }
  EXPECT_EQ(Shapes("Relu", {x}), Strings{"[2,3]"});
  EXPECT_EQ(Shapes("AddN", {x, x, x}), Strings{"[2,3]"});
  EXPECT_EQ(Error("AddN", {}), "node \"bad\" (AddN): has 0 inputs; allowed: 1 or more");
}

TEST_F(ShapeInferenceTest, ArithmeticBroadcasts) {
  const Output x = Value({2, 3, 4});
  for (const char* op : {"AddV2", "Sub", "Mul", "RealDiv"}) {
    EXPECT_EQ(Shapes(op, {x, Value({})}), Strings{"[2,3,4]"}) << op;
    EXPECT_EQ(Shapes(op, {Value({4}), x}), Strings{"[2,3,4]"}) << op;
    EXPECT_EQ(Shapes(op, {x, Value({5, 2, 1, 4})}), Strings{"[5,2,3,4]"}) << op;
    EXPECT_EQ(Error(op, {x, Value({3, 3})}),
              "node \"bad\" (" + std::string(op) +
                  "): inputs have shapes [2,3,4] and [3,3]; allowed: dimensions, from the last on, "
                  "that are equal or 1 in one of them");
  }
}

TEST_F(ShapeInferenceTest, GroupsFollowFromTheFilter) {
  const Output image = Value({2, 9, 9, 12});
  const Attributes same = {{"strides", Ints{1, 1}}, {"padding", std::string("SAME")}};
  EXPECT_EQ(Shapes("Conv2D", {image, Value({3, 3, 4, 6})}, same), Strings{"[2,9,9,6]"});
  EXPECT_EQ(Shapes("Conv2D", {image, Value({3, 3, 1, 24})}, same), Strings{"[2,9,9,24]"});
  for (const Shape& filter : {Shape{3, 3, 5, 6}, Shape{3, 3, 4, 8}, Shape{3, 3, 24, 6}}) {
    EXPECT_EQ(
        Error("Conv2D", {image, Value(filter)}, same),
        "node \"bad\" (Conv2D): image [2,9,9,12] does not fit filter " + filter.ToString() +
            "; allowed: image [N,H,W,C] and filter [R,S,C/groups,K], groups dividing C and K");
  }
}

TEST_F(ShapeInferenceTest, ExplicitPaddingsAndDilationsMoveTheWindows) {
  const Output image = Value({1, 9, 8, 3}), filter = Value({3, 3, 3, 2});
  const auto attributes = [](const std::string& padding, const Ints& paddings,
                             const Ints& dilations) {
    return Attributes{{"strides", Ints{2, 1}},
                      {"padding", padding},
                      {"explicit_paddings", paddings},
                      {"dilations", dilations}};
  };
  EXPECT_EQ(Shapes("Conv2D", {image, filter}, attributes("EXPLICIT", {1, 0, 2, 3}, {1, 1})),
            Strings{"[1,4,11,2]"});
  EXPECT_EQ(Shapes("Conv2D", {image, filter}, attributes("VALID", {}, {2, 3})),
            Strings{"[1,3,2,2]"});
  EXPECT_EQ(
      Error("Conv2D", {image, filter}, attributes("SAME", {1, 1, 1, 1}, {1, 1})),
      "node \"bad\" (Conv2D): explicit_paddings is [1,1,1,1] with padding SAME; allowed: none");
  for (const Ints& paddings : {Ints{}, Ints{1, 1}, Ints{1, 1, 1, -1}}) {
    EXPECT_EQ(Error("Conv2D", {image, filter}, attributes("EXPLICIT", paddings, {1, 1})),
              "node \"bad\" (Conv2D): explicit_paddings is " + Shape(paddings).ToString() +
                  " with padding EXPLICIT; allowed: {top, bottom, left, right}, none below 0");
  }
  EXPECT_EQ(Error("Conv2D", {image, filter}, attributes("VALID", {}, {0, 1})),
            "node \"bad\" (Conv2D): dilations is [0,1]; allowed: {height, width}, both at least 1");
  EXPECT_EQ(Error("Conv2D", {image, filter}, attributes("VALID", {}, {5, 1})),
            "node \"bad\" (Conv2D): a window of 11 does not fit into 9 with padding VALID");
}

TEST_F(ShapeInferenceTest, PoolsAreNotOfPaddingAlone) {
  const Attributes window = {{"ksize", Ints{3, 2}},
                             {"strides", Ints{1, 1}},
                             {"padding", std::string("EXPLICIT")},
                             {"explicit_paddings", Ints{2, 2, 1, 2}}};
  EXPECT_EQ(
      Error("MaxPool", {Value({1, 5, 5, 1})}, window),
      "node \"bad\" (MaxPool): explicit_paddings is [2,2,1,2] for a window of [3,2]; allowed: "
      "paddings below the window's size");
}

TEST_F(ShapeInferenceTest, ArraysAreJoinedCutAndTurned) {
  const Output x = Value({2, 3, 4});
  EXPECT_EQ(Shapes("ConcatV2", {x, Value({2, 5, 4}), x}, {{"axis", int64_t{1}}}),
            Strings{"[2,11,4]"});
  EXPECT_EQ(Error("ConcatV2", {x, Value({2, 5, 3})}, {{"axis", int64_t{1}}}),
            "node \"bad\" (ConcatV2): input 1 has shape [2,5,3], input 0 [2,3,4]; allowed: shapes "
            "that differ in dimension 1 alone");
  EXPECT_EQ(Error("ConcatV2", {x}, {{"axis", int64_t{3}}}),
            "node \"bad\" (ConcatV2): axis is 3 for shape [2,3,4]; allowed: a dimension from 0 on");
  EXPECT_EQ(Error("ConcatV2", {x}, {{"axis", Ints{1}}}),
            "node \"bad\" (ConcatV2): attribute axis has another type; allowed: an int");
  EXPECT_EQ(Shapes("Slice", {x}, {{"begin", Ints{1, 0, 2}}, {"size", Ints{1, 3, 2}}}),
            Strings{"[1,3,2]"});
  for (const Ints& begin : {Ints{2, 0, 0}, Ints{0, 1, 0}, Ints{0, 0, -1}, Ints{0, 0}}) {
    EXPECT_EQ(Error("Slice", {x}, {{"begin", begin}, {"size", Ints{1, 3, 2}}}),
              "node \"bad\" (Slice): begin is " + Shape(begin).ToString() +
                  ", size [1,3,2] for shape [2,3,4]; allowed: a part of every dimension, of one "
                  "element or more");
  }
  EXPECT_EQ(Shapes("Pad", {x}, {{"paddings", Ints{0, 0, 1, 2, 3, 0}}}), Strings{"[2,6,7]"});
  EXPECT_EQ(Error("Pad", {x}, {{"paddings", Ints{0, 0, 1, 2, -1, 0}}}),
            "node \"bad\" (Pad): paddings is [0,0,1,2,-1,0] for shape [2,3,4]; allowed: {before, "
            "after} of every dimension, none below 0");
  EXPECT_EQ(Shapes("Transpose", {x}, {{"perm", Ints{2, 0, 1}}}), Strings{"[4,2,3]"});
  EXPECT_EQ(Error("Transpose", {x}, {{"perm", Ints{2, 0, 2}}}),
            "node \"bad\" (Transpose): perm is [2,0,2] for shape [2,3,4]; allowed: every dimension "
            "from 0 on, once");
  EXPECT_EQ(Error("Transpose", {Value({1, 1, 1, 1, 1, 1, 1})}, {{"perm", Ints{0}}}),
            "node \"bad\" (Transpose): input 0 has shape [1,1,1,1,1,1,1]; allowed: at most 6 "
            "dimensions");
}

TEST_F(ShapeInferenceTest, HugeOutputsAreRefusedWithoutOverflow) {
  constexpr int64_t kMany = int64_t{1} << 20;
  EXPECT_EQ(
      Error("AddV2", {Value({kMany, 1, 1}), Value({kMany, kMany})}),
      "node \"bad\" (AddV2): the output has shape [1048576,1048576,1048576]; allowed: at most "
      "2^40 elements");
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_EQ(Error("Pad", {Value({1, 1})}, {{"paddings", Ints{kHuge, 0, kHuge, 0}}}),
            "node \"bad\" (Pad): the output has shape [1099511627777,1099511627777]; allowed: at "
            "most 2^40 elements");
  EXPECT_EQ(Error("Reshape", {Value({4})}, {{"shape", Ints{-1, kHuge, kHuge}}}),
            "node \"bad\" (Reshape): cannot reshape [4] to [-1,1099511627776,1099511627776]; "
            "allowed: 4 elements, at most one size -1");
}

TEST_F(ShapeInferenceTest, LimitsOfClipAndLocalResponse) {
  const Output x = Value({1, 2, 2, 8});
  EXPECT_EQ(Error("ClipByValue", {x}, {{"min", 1.0f}, {"max", 0.0f}}),
            "node \"bad\" (ClipByValue): min is 1.000000, max 0.000000; allowed: a minimum that is "
            "not above the maximum");
  EXPECT_EQ(Error("LRN", {x},
                  {{"depth_radius", int64_t{-1}}, {"bias", 1.0f}, {"alpha", 1.0f}, {"beta", 0.5f}}),
            "node \"bad\" (LRN): depth_radius is -1; allowed: 0 or more");
}

TEST_F(ShapeInferenceTest, LossHasOneValueAnExample) {
  const Output logits = Value({8, 10});
  EXPECT_EQ(Shapes("Softmax", {logits}), Strings{"[8,10]"});
  EXPECT_EQ(Shapes("SparseSoftmaxCrossEntropyWithLogits", {logits, Value({8}, "int32")}),
            (Strings{"[8]", "[8,10]"}));
  EXPECT_EQ(Error("SparseSoftmaxCrossEntropyWithLogits", {logits, Value({8})}),
            "node \"bad\" (SparseSoftmaxCrossEntropyWithLogits): input 1 is float; allowed: int32");
  EXPECT_EQ(Error("Softmax", {Value({8, 10}, "int32")}),
            "node \"bad\" (Softmax): input 0 is int32; allowed: float");
}

TEST_F(ShapeInferenceTest, ReshapeFillsInOneSize) {
  const Output x = Value({2, 3, 4});
  EXPECT_EQ(Shapes("Reshape", {x}, {{"shape", Ints{2, -1}}}), Strings{"[2,12]"});
  EXPECT_EQ(Shapes("Reshape", {x}, {{"shape", Ints{24}}}), Strings{"[24]"});
  for (const Ints& shape : {Ints{5, -1}, Ints{-1, -1}, Ints{23}, Ints{0, -1}}) {
    EXPECT_EQ(Error("Reshape", {x}, {{"shape", shape}}),
              "node \"bad\" (Reshape): cannot reshape [2,3,4] to " + Shape(shape).ToString() +
                  "; allowed: 24 elements, at most one size -1");
  }
}

TEST_F(ShapeInferenceTest, WritersNeedVariables) {
  const Output w = Variable({3}), m = Variable({3}), g = Value({3});
  const Attributes momentum = {{"learning_rate", 0.1f}, {"momentum", 0.9f}, {"weight_decay", 0.0f}};
  EXPECT_EQ(Shapes("ApplyMomentum", {w, m, g}, momentum), Strings{"[3]"});
  EXPECT_EQ(Shapes("AssignMovingAverage", {Variable({3}), g}, {{"decay", 0.9f}}), Strings{"[3]"});
  EXPECT_EQ(Error("ApplyMomentum", {w, g, g}, momentum),
            "node \"bad\" (ApplyMomentum): input 1 is written, but \"Placeholder\" is no variable; "
            "allowed: a VariableV2");
}

TEST_F(ShapeInferenceTest, AttributesMustBeThereAndOfTheirKind) {
  const Output x = Value({1, 4, 4, 1});
  EXPECT_EQ(Error("Mean", {x}),
            "node \"bad\" (Mean): attribute axes is missing; allowed: a list of ints");
  EXPECT_EQ(Error("Mean", {x}, {{"axes", true}}),
            "node \"bad\" (Mean): attribute axes has another type; allowed: a list of ints");
  EXPECT_EQ(Error("Mean", {x}, {{"axes", Ints{1, 2}}, {"axis", Ints{1}}}),
            "node \"bad\" (Mean): unknown attribute axis; allowed: axes, keep_dims");
  EXPECT_EQ(Error("Relu", {x}, {{"axis", Ints{1}}}),
            "node \"bad\" (Relu): unknown attribute axis; allowed: none");
}

TEST_F(ShapeInferenceTest, OptionalAttributesAreFilledIn) {
  const NodeId product = graph_.Add("MatMul", "", {Value({1, 1}), Value({1, 1})});
  EXPECT_FALSE(GetAttribute<bool>(graph_.At(product), "transpose_a"));
}

}  // namespace
}  // namespace cosched
