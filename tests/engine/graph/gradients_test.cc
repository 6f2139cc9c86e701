// The structure of the gradient graph; that its values are right is tested with finite differences
// in tests/engine/session/gradient_values_test.cc.

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

class GradientsTest : public ::testing::Test {
 protected:
  const Node& Producer(Output output) const { return graph_.At(output.node); }
  int Count(const std::string& op) const {
    return static_cast<int>(std::count_if(graph_.Nodes().begin(), graph_.Nodes().end(),
                                          [&](const Node& node) { return node.op == op; }));
  }

  Graph graph_;
  GraphBuilder builder_{&graph_};
};

TEST_F(GradientsTest, OfTheLossItselfIsOne) {
  const Output x = builder_.Placeholder("x", {});
  const Output loss = builder_.Relu(x);
  const Output one = builder_.Gradients(loss, {loss})[0];
  EXPECT_EQ(Producer(one).op, "Const");
  EXPECT_EQ(GetAttribute<Tensor>(Producer(one), "value").Floats()[0], 1.0f);
}

TEST_F(GradientsTest, AreNamedAfterWhatTheyDifferentiate) {
  const Output x = builder_.Placeholder("x", {2, 3});
  const Output loss = builder_.MeanAll(x);
  EXPECT_EQ(Producer(builder_.Gradients(loss, {x})[0]).name, "gradients/Mean_grad/MeanGrad");
  EXPECT_EQ(Producer(builder_.Gradients(loss, {x})[0]).name, "gradients/Mean_grad/MeanGrad_1");
}

TEST_F(GradientsTest, OnlyThoseNeededAreAdded) {
  const Output image = builder_.Placeholder("image", {1, 4, 4, 1});
  const Output filter = builder_.Variable("filter", Zeros({3, 3, 1, 2}));
  const Output loss = builder_.MeanAll(builder_.Conv2D(image, filter, 1, Padding::kSame));
  const std::vector<Output> gradients = builder_.Gradients(loss, {filter});
  EXPECT_EQ(Producer(gradients[0]).op, "Conv2DBackpropFilter");
  EXPECT_EQ(graph_.Info(gradients[0]).shape, Shape({3, 3, 1, 2}));
  EXPECT_EQ(Count("Conv2DBackpropInput"), 0);
}

TEST_F(GradientsTest, FanOutIsSummedInOneAddN) {
  const Output x = builder_.Placeholder("x", {2});
  const Output y = builder_.Relu(x);
  const Output loss = builder_.MeanAll(builder_.AddV2(builder_.AddV2(y, builder_.Relu(y)), y));
  builder_.Gradients(loss, {x});
  ASSERT_EQ(Count("AddN"), 1);
  const Node& sum = graph_.At(graph_.Find("gradients/Relu_grad/AddN"));
  EXPECT_EQ(sum.inputs.size(), 3u);
}

TEST_F(GradientsTest, OfTheSameInputTwiceAreSummedToo) {
  const Output x = builder_.Placeholder("x", {2});
  const Output loss = builder_.MeanAll(builder_.AddV2(x, x));
  EXPECT_EQ(Producer(builder_.Gradients(loss, {x})[0]).op, "AddN");
}

TEST_F(GradientsTest, AreMissingWhereTheLossDoesNotDependOnX) {
  const Output x = builder_.Placeholder("x", {2});
  const Output other = builder_.Placeholder("other", {2});
  const Output labels = builder_.Placeholder("labels", {2}, DataType::kInt32);
  const Output logits = builder_.Reshape(x, {2, 1});
  const Output loss =
      builder_.MeanAll({builder_.SparseSoftmaxCrossEntropyWithLogits(logits, labels), 0});
  const std::vector<Output> gradients = builder_.Gradients(loss, {x, other, labels});
  EXPECT_EQ(graph_.Info(gradients[0]).shape, Shape({2}));
  EXPECT_EQ(gradients[1].node, -1);
  EXPECT_EQ(gradients[2].node, -1);
}

TEST_F(GradientsTest, PassThroughEveryOpWithTheShapeOfTheirInput) {
  const Output image = builder_.Placeholder("image", {2, 8, 8, 3});
  const Output labels = builder_.Placeholder("labels", {2}, DataType::kInt32);
  const auto channels = [&](const std::string& name, int64_t size) {
    return builder_.Variable(name, Zeros({size}));
  };
  Output x =
      builder_.Conv2D(image, builder_.Variable("f1", Zeros({3, 3, 3, 4})), 2, Padding::kSame);
  x = builder_.BatchNorm(x, channels("scale", 4), channels("offset", 4),
                         builder_.UntrainableVariable("mean", Zeros({4})),
                         builder_.UntrainableVariable("variance", Zeros({4})), true);
  x = builder_.Relu(x);
  x = builder_.AddV2(
      x, builder_.Conv2D(x, builder_.Variable("f2", Zeros({1, 1, 4, 4})), 1, Padding::kSame));
  x = builder_.MaxPool(x, 2, 1, Padding::kSame);
  x = builder_.AvgPool(x, 2, 2, Padding::kSame);
  x = builder_.BiasAdd(x, channels("bias", 4));
  x = builder_.Reshape(builder_.GlobalAveragePool(x), {2, 4});
  x = builder_.MatMul(x, builder_.Variable("w", Zeros({4, 5})));
  const NodeId entropy = builder_.SparseSoftmaxCrossEntropyWithLogits(x, labels);
  const Output loss = builder_.MeanAll({entropy, 0});
  std::vector<Output> xs = builder_.TrainableVariables();
  xs.push_back(image);
  const std::vector<Output> gradients = builder_.Gradients(loss, xs);
  for (size_t i = 0; i < xs.size(); ++i) {
    ASSERT_NE(gradients[i].node, -1) << graph_.At(xs[i].node).name;
    EXPECT_EQ(graph_.Info(gradients[i]).shape, graph_.Info(xs[i]).shape);
  }
  builder_.ApplyMomentum(builder_.TrainableVariables(), {gradients.begin(), gradients.end() - 1},
                         0.1f, 0.9f, 0, "train");
  graph_.Build();
  // Both updates of BatchNorm and one for each of the six variables.
  EXPECT_EQ(graph_.At(graph_.Find("train")).control_inputs.size(), 8u);
  EXPECT_NE(graph_.Find("f1/momentum"), -1);
}

TEST_F(GradientsTest, RefuseOpsWithoutOne) {
  const Output x = builder_.Placeholder("x", {2, 3});
  const Output loss = builder_.MeanAll(builder_.Softmax(x));
  try {
    builder_.Gradients(loss, {x});
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "node \"Softmax\" (Softmax): the op has no gradient");
  }
}

TEST_F(GradientsTest, RefuseALossThatIsNoScalar) {
  const Output x = builder_.Placeholder("x", {2, 3});
  try {
    builder_.Gradients(x, {x});
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "node \"x\" (Placeholder): has shape [2,3], cannot be a loss; allowed: a scalar");
  }
}

TEST_F(GradientsTest, TrainingRefusesAVariableTheLossDoesNotDependOn) {
  const Output unused = builder_.Variable("unused", Zeros({2}));
  try {
    builder_.ApplyMomentum({unused}, {Output{}}, 0.1f, 0.9f, 0, "train");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "node \"unused\" (VariableV2): cannot be trained: the loss does not depend on it");
  }
}

TEST(GraphBuilderTest, ScopesPrefixNames) {
  Graph graph;
  GraphBuilder builder(&graph);
  const Output x = builder.Placeholder("x", {2});
  {
    GraphBuilder::Scope outer(&builder, "block");
    builder.Relu(x);
    GraphBuilder::Scope inner(&builder, "branch");
    builder.Relu(x);
    builder.Relu(x);
  }
  builder.Relu(x);
  for (const char* name : {"block/Relu", "block/branch/Relu", "block/branch/Relu_1", "Relu"}) {
    EXPECT_NE(graph.Find(name), -1) << name;
  }
}

}  // namespace
}  // namespace cosched
