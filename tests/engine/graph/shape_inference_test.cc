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
  EXPECT_EQ(Error("Placeholder", {}, {{"shape", Ints{1 << 20, 1 << 20}}}),
            "node \"bad\" (Placeholder): shape [1048576,1048576] is too large; allowed: at most "
            "2^31 - 1 elements");
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
            "[N,H,W,C] and filter [R,S,C,K]");
  EXPECT_EQ(Error("Conv2D", {image, Value({5, 5, 3, 1})}, valid),
            "node \"bad\" (Conv2D): a window of 5 does not fit into 4 with padding VALID");
  EXPECT_EQ(Error("Conv2D", {image, Value({3, 3, 3, 1})},
                  {{"strides", Ints{1, 0}}, {"padding", std::string("SAME")}}),
            "node \"bad\" (Conv2D): strides is [1,0]; allowed: {height, width}, both at least 1");
  EXPECT_EQ(Error("Conv2D", {image, Value({3, 3, 3, 1})},
                  {{"strides", Ints{1, 1}}, {"padding", std::string("same")}}),
            "node \"bad\" (Conv2D): padding is \"same\"; allowed: \"SAME\" or \"VALID\"");
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

TEST_F(ShapeInferenceTest, MeanIsOverTheImageOrOverEverything) {
  const Output x = Value({2, 3, 4, 5});
  EXPECT_EQ(Shapes("Mean", {x}, {{"axes", Ints{1, 2}}}), Strings{"[2,5]"});
  EXPECT_EQ(Shapes("Mean", {x}, {{"axes", Ints{0, 1, 2, 3}}}), Strings{"[]"});
  EXPECT_EQ(Shapes("MeanGrad", {Value({2, 5})},
                   {{"axes", Ints{1, 2}}, {"input_shape", Ints{2, 3, 4, 5}}}),
            Strings{"[2,3,4,5]"});
  EXPECT_EQ(Error("Mean", {x}, {{"axes", Ints{1}}}),
            "node \"bad\" (Mean): axes are [1] for shape [2,3,4,5]; allowed: [1,2] of an image, or "
            "all axes in order");
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
  for (const char* op : {"AddV2", "Mul", "AddN", "ReluGrad"}) {
    EXPECT_EQ(Shapes(op, {x, x}), Strings{"[2,3]"}) << op;
    EXPECT_EQ(Error(op, {x, Value({3, 2})}),
              "node \"bad\" (" + std::string(op) + "): input 1 has shape [3,2]; allowed: [2,3]");
  }
  EXPECT_EQ(Shapes("Relu", {x}), Strings{"[2,3]"});
  EXPECT_EQ(Shapes("Mul", {x, Value({})}), Strings{"[2,3]"});
  EXPECT_EQ(Shapes("AddN", {x, x, x}), Strings{"[2,3]"});
  EXPECT_EQ(Error("AddN", {}), "node \"bad\" (AddN): has 0 inputs; allowed: 1 or more");
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
            "node \"bad\" (Mean): unknown attribute axis; allowed: axes");
  EXPECT_EQ(Error("Relu", {x}, {{"axis", Ints{1}}}),
            "node \"bad\" (Relu): unknown attribute axis; allowed: none");
}

TEST_F(ShapeInferenceTest, OptionalAttributesAreFilledIn) {
  const NodeId product = graph_.Add("MatMul", "", {Value({1, 1}), Value({1, 1})});
  EXPECT_FALSE(GetAttribute<bool>(graph_.At(product), "transpose_a"));
}

}  // namespace
}  // namespace cosched
