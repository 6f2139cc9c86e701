#include "workloads/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/workloads/expect_input_error.h"

namespace cosched {
namespace {

struct Built {
  Built(const ModelInfo& model, bool training, uint64_t seed) : builder(&graph) {
    const Shape shape = {4, model.image[0], model.image[1], model.image[2]};
    logits = model.build(builder, builder.Placeholder("images", shape), training, seed);
  }
  const Tensor& Initial(const std::string& variable) const {
    return GetAttribute<Tensor>(graph.At(graph.Find(variable)), "initial");
  }
  int64_t Parameters() const {
    int64_t sum = 0;
    for (Output variable : builder.TrainableVariables())
      sum += graph.Info(variable).shape.Elements();
    return sum;
  }
  int Count(const std::string& op) const {
    int count = 0;
    for (const Node& node : graph.Nodes()) count += node.op == op ? 1 : 0;
    return count;
  }
  Graph graph;
  GraphBuilder builder;
  Output logits;
};

ModelInfo Model(const std::string& name) { return *OpenModel(name); }

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.GetShape() == b.GetShape() && std::memcmp(a.Data(), b.Data(), a.Bytes()) == 0;
}

TEST(ModelTest, TableFindsEveryModelByName) {
  for (const ModelInfo& model : Models()) {
    EXPECT_TRUE(IsModelName(model.name));
    EXPECT_EQ(OpenModel(model.name)->parameters, model.parameters);
    EXPECT_FALSE(model.summary.empty());
    EXPECT_GT(model.learning_rate, 0);
  }
  EXPECT_FALSE(IsModelName("vgg"));
  EXPECT_FALSE(IsModelName(""));
  ExpectInputError([] { OpenModel("vgg"); }, "model", "lenet5, resnet20");
}

TEST(ModelTest, TwoBatchSizesInOneGraphShareTheirVariables) {
  Graph graph;
  GraphBuilder builder(&graph);
  const ModelInfo model = Model("resnet20");
  std::vector<Output> logits;
  for (int64_t batch : {1, 8}) {
    const Output images = builder.Placeholder("images" + std::to_string(batch), {batch, 32, 32, 3});
    logits.push_back(model.build(builder, images, false, 1));
  }
  EXPECT_NE(logits[0], logits[1]);
  EXPECT_EQ(graph.Info(logits[1]).shape, (Shape{8, 10}));
  const Built once(model, false, 1);
  const auto variables = [](const Graph& of) {
    return std::ranges::count(of.Nodes(), "VariableV2", &Node::op);
  };
  EXPECT_EQ(variables(graph), variables(once.graph));
  EXPECT_EQ(builder.TrainableVariables().size(), once.builder.TrainableVariables().size());
}

TEST(ModelTest, EveryModelHasItsLogitsAndParameters) {
  for (const ModelInfo& model : Models()) {
    for (bool training : {false, true}) {
      const Built built(model, training, 1);
      EXPECT_EQ(built.graph.Info(built.logits).shape, (Shape{4, model.classes})) << model.name;
      EXPECT_EQ(built.Parameters(), model.parameters) << model.name;
    }
  }
}

TEST(ModelTest, Lenet5HasThePublishedParameters) {
  const int64_t conv1 = 5 * 5 * 1 * 6 + 6, conv2 = 5 * 5 * 6 * 16 + 16;
  const int64_t fc1 = 5 * 5 * 16 * 120 + 120, fc2 = 120 * 84 + 84, fc3 = 84 * 10 + 10;
  EXPECT_EQ(conv1 + conv2 + fc1 + fc2 + fc3, 61706);
  EXPECT_EQ(Model("lenet5").parameters, 61706);
}

// Counted from the description in the papers, layer by layer.
int64_t ResnetParameters(int blocks_per_stage) {
  const auto conv_and_norm = [](int64_t size, int64_t inputs, int64_t filters) {
    return size * size * inputs * filters + 2 * filters;
  };
  int64_t sum = conv_and_norm(3, 3, 16);
  int64_t inputs = 16;
  for (int64_t filters : {16, 32, 64}) {
    sum += conv_and_norm(1, inputs, filters);  // The projection of the stage's first block.
    for (int block = 0; block < blocks_per_stage; ++block) {
      sum += conv_and_norm(3, inputs, filters) + conv_and_norm(3, filters, filters);
      inputs = filters;
    }
  }
  return sum + int64_t{64} * 10 + 10;
}

TEST(ModelTest, ResnetsHaveTheParametersOfTheirDescription) {
  EXPECT_EQ(Model("resnet20").parameters, ResnetParameters(3));
  EXPECT_EQ(Model("resnet56").parameters, ResnetParameters(9));
}

TEST(ModelTest, ResnetsHaveTheirDepth) {
  // 6n + 1 convolutions and one dense layer, and three projections that don't count as depth.
  EXPECT_EQ(Built(Model("resnet20"), false, 1).Count("Conv2D"), 19 + 3);
  EXPECT_EQ(Built(Model("resnet56"), false, 1).Count("Conv2D"), 55 + 3);
  EXPECT_EQ(Built(Model("resnet56"), false, 1).Count("MatMul"), 1);
}

TEST(ModelTest, ResnetStagesHalveTheImage) {
  const Built built(Model("resnet20"), false, 1);
  Shape last;
  for (const Node& node : built.graph.Nodes()) {
    if (node.op == "AddV2") last = node.outputs[0].shape;
  }
  EXPECT_EQ(last, (Shape{4, 8, 8, 64}));
}

TEST(ModelTest, OnlyTrainingUpdatesRunningStatistics) {
  EXPECT_EQ(Built(Model("resnet20"), false, 1).Count("AssignMovingAverage"), 0);
  EXPECT_EQ(Built(Model("resnet20"), true, 1).Count("AssignMovingAverage"), 2 * (19 + 3));
}

TEST(ModelTest, InitialWeightsComeFromTheSeedAlone) {
  for (const ModelInfo& model : Models()) {
    const Built training(model, true, 5), inference(model, false, 5), other(model, false, 6);
    for (Output variable : inference.builder.TrainableVariables()) {
      const std::string& name = inference.graph.At(variable.node).name;
      EXPECT_TRUE(SameBits(training.Initial(name), inference.Initial(name))) << name;
    }
    EXPECT_FALSE(SameBits(inference.Initial("conv1/filter"), other.Initial("conv1/filter")));
  }
}

TEST(ModelTest, ConvolutionsStartWithHesDeviation) {
  const Built built(Model("resnet20"), false, 1);
  const Tensor& filter = built.Initial("stage3/block2/conv2/filter");
  ASSERT_EQ(filter.GetShape(), (Shape{3, 3, 64, 64}));
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < filter.Elements(); ++i) {
    sum += filter.Floats()[i];
    squares += filter.Floats()[i] * filter.Floats()[i];
  }
  const auto count = static_cast<double>(filter.Elements());
  EXPECT_NEAR(sum / count, 0, 0.002);
  EXPECT_NEAR(std::sqrt(squares / count), std::sqrt(2.0 / (9 * 64)), 0.001);
}

}  // namespace
}  // namespace cosched
