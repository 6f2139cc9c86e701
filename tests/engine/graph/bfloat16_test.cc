// Which values of a converted graph are bfloat16, and where it casts.

#include "engine/graph/bfloat16.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/graph/graph_builder.h"

namespace cosched {
namespace {

Tensor Zeros(const Shape& shape) {
  Tensor tensor(shape);
  std::fill_n(tensor.Floats(), tensor.Elements(), 0.0f);
  return tensor;
}

class BFloat16Test : public ::testing::Test {
 protected:
  void Convert(const std::vector<std::string>& fetches) {
    ConvertToBFloat16(graph_, fetches, &result_);
    result_.Build();
  }
  DataType TypeOf(const std::string& name, int index = 0) const {
    EXPECT_NE(result_.Find(name), -1) << name;
    return result_.Info({result_.Find(name), index}).type;
  }
  int Casts() const {
    return static_cast<int>(std::count_if(result_.Nodes().begin(), result_.Nodes().end(),
                                          [](const Node& node) { return node.op == "Cast"; }));
  }
  // Convolution, batch norm, activation, pool, mean and dense layer.
  Output Network() {
    const auto channels = [&](const std::string& name) {
      return builder_.Variable(name, Zeros({4}));
    };
    const Output images = builder_.Placeholder("images", {2, 8, 8, 3});
    Output x = builder_.Conv2D(images, builder_.Variable("filter", Zeros({3, 3, 3, 4})), 1,
                               Padding::kSame);
    x = builder_.BatchNorm(x, channels("scale"), channels("offset"),
                           builder_.UntrainableVariable("mean", Zeros({4})),
                           builder_.UntrainableVariable("variance", Zeros({4})), true);
    x = builder_.MaxPool(builder_.Relu(x), 2, 2, Padding::kValid);
    x = builder_.GlobalAveragePool(x);
    return builder_.MatMul(x, builder_.Variable("weights", Zeros({4, 5})));
  }

  Graph graph_, result_;
  GraphBuilder builder_{&graph_};
};

TEST_F(BFloat16Test, ImagesAreHalvedFromTheFirstConvolutionToTheMean) {
  Network();
  Convert({"MatMul"});
  for (const char* name : {"Conv2D", "FusedBatchNormV3", "Relu", "MaxPool"})
    EXPECT_EQ(TypeOf(name), DataType::kBFloat16) << name;
  for (const char* name : {"images", "filter", "Mean", "MatMul"})
    EXPECT_EQ(TypeOf(name), DataType::kFloat) << name;
  EXPECT_EQ(TypeOf("FusedBatchNormV3", 1), DataType::kFloat);
  EXPECT_EQ(TypeOf("images/Cast"), DataType::kBFloat16);
  EXPECT_EQ(TypeOf("MaxPool/Cast"), DataType::kFloat);
  EXPECT_EQ(Casts(), 2);
}

TEST_F(BFloat16Test, GradientsOfVariablesAreFloats) {
  const Output labels = builder_.Placeholder("labels", {2}, DataType::kInt32);
  const NodeId entropy = builder_.SparseSoftmaxCrossEntropyWithLogits(Network(), labels);
  const Output loss = builder_.MeanAll({entropy, 0});
  const std::vector<Output>& variables = builder_.TrainableVariables();
  builder_.ApplyMomentum(variables, builder_.Gradients(loss, variables), 0.1f, 0.9f, 0, "train");
  Convert({"train"});
  EXPECT_EQ(TypeOf("gradients/MaxPool_grad/MaxPoolGrad"), DataType::kBFloat16);
  EXPECT_EQ(TypeOf("gradients/FusedBatchNormV3_grad/FusedBatchNormGradV3"), DataType::kBFloat16);
  for (const Node& node : result_.Nodes()) {
    if (node.op != "ApplyMomentum") continue;
    EXPECT_EQ(result_.Info(node.inputs[2]).type, DataType::kFloat) << node.name;
  }
  EXPECT_EQ(result_.At(result_.Find("train")).control_inputs.size(),
            graph_.At(graph_.Find("train")).control_inputs.size());
}

TEST_F(BFloat16Test, WhatIsFetchedStaysAFloat) {
  Network();
  Convert({"Relu", "FusedBatchNormV3:1", "MatMul"});
  EXPECT_EQ(TypeOf("Relu"), DataType::kFloat);
  EXPECT_EQ(TypeOf("Relu/bfloat16"), DataType::kBFloat16);
  EXPECT_EQ(TypeOf("FusedBatchNormV3"), DataType::kBFloat16);
}

TEST_F(BFloat16Test, ReshapesHaveTheTypeOfTheirInput) {
  const Output x = builder_.Placeholder("x", {1, 2, 2, 1});
  const Output flat = builder_.Reshape(
      builder_.Conv2D(x, builder_.Variable("filter", Zeros({1, 1, 1, 1})), 1, Padding::kSame),
      {1, 4});
  builder_.Reshape(x, {4});
  builder_.MatMul(flat, builder_.Variable("weights", Zeros({4, 2})));
  Convert({"MatMul"});
  EXPECT_EQ(TypeOf("Reshape"), DataType::kBFloat16);
  EXPECT_EQ(TypeOf("Reshape_1"), DataType::kFloat);
}

TEST_F(BFloat16Test, GraphsWithoutConvolutionsStayAsTheyAre) {
  const Output x = builder_.Placeholder("x", {2, 2});
  builder_.Relu(builder_.MatMul(x, x));
  Convert({"Relu"});
  EXPECT_EQ(result_.Size(), graph_.Size());
  EXPECT_EQ(Casts(), 0);
}

TEST_F(BFloat16Test, TypesThatDoNotMeetAreRefused) {
  const Output half{
      graph_.Add("Cast", "", {builder_.Placeholder("x", {2})}, {{"dtype", "bfloat16"}})};
  try {
    graph_.Add("Mul", "bad", {half, builder_.Placeholder("y", {2})});
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "node \"bad\" (Mul): input 1 is float; allowed: bfloat16");
  }
}

}  // namespace
}  // namespace cosched
