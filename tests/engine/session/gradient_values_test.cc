// Gradients of whole graphs against finite differences: for a random direction d, (L(w + h d) - L(w
// - h d)) / 2h must be the gradient's component along d.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/session/small_cnn.h"

namespace cosched {
namespace {

double Dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.Elements(); ++i)
    sum += static_cast<double>(a.Floats()[i]) * b.Floats()[i];
  return sum;
}

Tensor Moved(const Tensor& from, const Tensor& direction, float step) {
  Tensor to = from.Clone();
  for (int64_t i = 0; i < to.Elements(); ++i) to.Floats()[i] += step * direction.Floats()[i];
  return to;
}

// Directions of unit length, so that a step of 1e-2 stays small in every tensor.
Tensor RandomDirection(const Shape& shape, Random* random) {
  Tensor direction = RandomTensor(shape, 1, random);
  const double length = std::sqrt(Dot(direction, direction));
  for (int64_t i = 0; i < direction.Elements(); ++i) {
    direction.Floats()[i] = static_cast<float>(direction.Floats()[i] / length);
  }
  return direction;
}

void ExpectGradientMatches(Session* session, const Feeds& feeds, const std::string& loss,
                           const std::string& variable, const std::string& gradient, float step,
                           double tolerance) {
  Random random(17);
  const Tensor start = session->Variable(variable);
  for (int trial = 0; trial < 3; ++trial) {
    const Tensor direction = RandomDirection(start.GetShape(), &random);
    const auto loss_at = [&](float distance) {
      session->SetVariable(variable, Moved(start, direction, distance));
      return static_cast<double>(session->Run(feeds, {loss})[0].Floats()[0]);
    };
    const double numeric = (loss_at(step) - loss_at(-step)) / (2 * step);
    session->SetVariable(variable, start);
    const double exact = Dot(session->Run(feeds, {gradient})[0], direction);
    EXPECT_NEAR(exact, numeric, tolerance + 0.02 * std::abs(numeric)) << variable;
  }
}

class GradientValuesTest : public ::testing::TestWithParam<KernelBackend> {
 protected:
  // The gradient of `loss` for each trainable variable, checked in a session of the built graph.
  void ExpectAllMatch(Output loss, const Feeds& feeds = {}) {
    const std::vector<Output> variables = builder_.TrainableVariables();
    const std::vector<Output> gradients = builder_.Gradients(loss, variables);
    graph_.Build();
    Session session(graph_, {.backend = GetParam()});
    for (size_t i = 0; i < variables.size(); ++i) {
      ExpectGradientMatches(
          &session, feeds, graph_.At(loss.node).name, graph_.At(variables[i].node).name,
          graph_.At(gradients[i].node).name + ":" + std::to_string(gradients[i].index), 1e-2f,
          3e-4);
    }
  }
  Output Weights(const std::string& name, const Shape& shape) {
    return builder_.Variable(name, RandomTensor(shape, 1, &random_));
  }
  // A scalar that depends on all elements in different ways: the mean of x times fixed random
  // weights.
  Output Weighted(Output x) {
    const Output weights =
        builder_.Const("weights", RandomTensor(graph_.Info(x).shape, 1, &random_));
    return builder_.MeanAll({graph_.Add("Mul", "", {x, weights})});
  }

  Random random_{29};
  Graph graph_;
  GraphBuilder builder_{&graph_};
};

INSTANTIATE_TEST_SUITE_P(Backends, GradientValuesTest,
                         ::testing::Values(KernelBackend::kReference, KernelBackend::kFast),
                         [](const auto& info) {
                           return info.param == KernelBackend::kFast ? "Fast" : "Reference";
                         });

TEST_P(GradientValuesTest, OfConvolutions) {
  const Output image = Weights("image", {2, 7, 6, 3});
  const Output x = builder_.Conv2D(image, Weights("strided", {3, 3, 3, 4}), 2, Padding::kSame);
  ExpectAllMatch(Weighted(builder_.Conv2D(x, Weights("valid", {2, 3, 4, 2}), 1, Padding::kValid)));
}

TEST_P(GradientValuesTest, OfConvolutionsInGroupsWithExplicitPaddings) {
  Output x = Weights("image", {2, 7, 6, 4});
  x = builder_.Conv2D(x, Weights("depthwise", {3, 3, 1, 8}), {.padding = Padding::kSame});
  x = builder_.Conv2D(x, Weights("groups", {2, 3, 4, 6}),
                      {.stride = {2, 1},
                       .padding = Padding::kExplicit,
                       .explicit_paddings = {0, 1, 2, 1},
                       .dilations = {2, 1}});
  ExpectAllMatch(Weighted(x));
}

TEST_P(GradientValuesTest, OfTransposedConvolutions) {
  const Output x = Weights("x", {2, 3, 4, 6});
  const ConvolutionOptions options{
      .stride = 2, .padding = Padding::kExplicit, .explicit_paddings = {1, 0, 1, 1}};
  ExpectAllMatch(Weighted(
      builder_.Conv2DBackpropInput(Weights("filter", {3, 3, 2, 6}), x, {2, 6, 8, 4}, options)));
}

TEST_P(GradientValuesTest, OfBroadcastArithmetic) {
  const Output x = Weights("x", {3, 2, 4}), row = Weights("row", {4});
  const Output column = Weights("column", {2, 1}), scalar = Weights("scalar", {});
  const Output two = builder_.Const("two", Filled({}, 2));
  Output sum = builder_.AddV2(builder_.Mul(column, x), row);
  sum = builder_.Sub(builder_.Mul(sum, scalar), builder_.Mul(row, column));
  ExpectAllMatch(Weighted(
      builder_.RealDiv(sum, builder_.AddV2(builder_.Sub(two, builder_.Mul(column, row)), scalar))));
}

TEST_P(GradientValuesTest, OfArrays) {
  const Output x = Weights("x", {2, 3, 4}), y = Weights("y", {2, 2, 4});
  Output joined = builder_.ConcatV2({x, y, x}, 1);
  joined = builder_.Slice(joined, {0, 1, 1}, {2, 6, 2});
  joined = builder_.Transpose(joined, {2, 0, 1});
  joined = builder_.Pad(joined, {1, 0, 0, 2, 1, 1}, 0.5f);
  joined = builder_.Mul(joined, builder_.Mean(joined, {0, 2}, /*keep_dims=*/true));
  ExpectAllMatch(Weighted(builder_.Mean(joined, {1}, /*keep_dims=*/false)));
}

// Far from the kinks of the clipped ones.
TEST_P(GradientValuesTest, OfActivations) {
  const Output x = Weights("x", {4, 5});
  const Output four = builder_.Const("four", Filled({}, 4));
  Output y = builder_.AddV2(builder_.HardSwish(x), builder_.Sigmoid(x));
  y = builder_.AddV2(y, builder_.Relu6(builder_.AddV2(four, x)));
  ExpectAllMatch(Weighted(builder_.AddV2(y, builder_.ClipByValue(x, -2, 2))));
}

// A layer norm and a GELU, written out.
TEST_P(GradientValuesTest, OfWrittenOutOps) {
  const Output x = Weights("x", {3, 7});
  const auto mean = [&](Output of) { return builder_.Mean(of, {1}, /*keep_dims=*/true); };
  const Output centred = builder_.Sub(x, mean(x));
  const Output variance =
      builder_.AddV2(mean(builder_.Mul(centred, centred)), builder_.Const("e", Filled({}, 0.1f)));
  const Output y = builder_.RealDiv(centred, {builder_.AddNode("Sqrt", {variance})});
  const Output root = builder_.Const("root", Filled({}, std::sqrt(2.0f)));
  const Output erf{builder_.AddNode("Erf", {builder_.RealDiv(y, root)})};
  ExpectAllMatch(Weighted(builder_.Mul(y, erf)));
}

TEST_P(GradientValuesTest, OfLocalResponse) {
  const Output x = Weights("x", {2, 2, 3, 7});
  ExpectAllMatch(Weighted({builder_.AddNode(
      "LRN", {x},
      {{"depth_radius", int64_t{2}}, {"bias", 2.0f}, {"alpha", 0.5f}, {"beta", 0.75f}})}));
}

TEST_P(GradientValuesTest, OfMatMulForEveryTransposition) {
  Output sum;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const std::string suffix = std::to_string(ta) + std::to_string(tb);
      const Output a = Weights("a" + suffix, ta ? Shape{4, 3} : Shape{3, 4});
      const Output b = Weights("b" + suffix, tb ? Shape{5, 4} : Shape{4, 5});
      const Output product = {
          graph_.Add("MatMul", "", {a, b}, {{"transpose_a", ta}, {"transpose_b", tb}})};
      sum = sum.node == -1 ? product : builder_.AddV2(sum, product);
    }
  }
  ExpectAllMatch(Weighted(sum));
}

TEST_P(GradientValuesTest, OfProducts) {
  const Output x = Weights("x", {3, 4});
  const Output square = {graph_.Add("Mul", "", {x, x})};
  const Output scaled = {graph_.Add("Mul", "", {square, Weights("factor", {})})};
  ExpectAllMatch(Weighted({graph_.Add("Mul", "", {scaled, Weights("y", {3, 4})})}));
}

TEST_P(GradientValuesTest, OfBatchNormAndBias) {
  Output x = Weights("x", {4, 3, 3, 2});
  x = builder_.BatchNorm(x, Weights("scale", {2}), Weights("offset", {2}),
                         builder_.UntrainableVariable("mean", Filled({2}, 0)),
                         builder_.UntrainableVariable("variance", Filled({2}, 1)), true);
  ExpectAllMatch(Weighted(builder_.BiasAdd(x, Weights("bias", {2}))));
}

TEST_P(GradientValuesTest, OfPoolsAndMeans) {
  Output x = Weights("x", {2, 9, 9, 2});
  x = builder_.AvgPool(x, 3, 2, Padding::kSame);
  x = builder_.MaxPool(x, 2, 1, Padding::kSame);
  ExpectAllMatch(Weighted(builder_.GlobalAveragePool(x)));
}

TEST_P(GradientValuesTest, OfTheLossWithAnyIncomingGradient) {
  Random random(5);
  const Output labels = builder_.Placeholder("labels", {6}, DataType::kInt32);
  const NodeId entropy =
      builder_.SparseSoftmaxCrossEntropyWithLogits(Weights("logits", {6, 4}), labels);
  ExpectAllMatch(Weighted({entropy, 0}), {{"labels", RandomLabels(6, 4, &random)}});
}

// Relu and MaxPool have kinks, and a step that crosses some is off in proportion to its length; a
// short one is off by the rounding of the loss.
TEST_P(GradientValuesTest, OfAWholeNetwork) {
  const SmallCnn cnn;
  Session session(cnn.graph, {.backend = GetParam()});
  for (size_t i = 0; i < cnn.variables.size(); ++i) {
    ExpectGradientMatches(&session, SmallCnn::Batch(3), cnn.loss, cnn.variables[i],
                          cnn.gradients[i], 5e-4f, 1.5e-3);
  }
}

}  // namespace
}  // namespace cosched
