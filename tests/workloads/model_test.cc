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
  static constexpr int64_t kBatch = 4;

  Built(const ModelInfo& model, bool training, uint64_t seed)
      : Built(model, {kBatch, model.image[0], model.image[1], model.image[2]}, training, seed) {}
  Built(const ModelInfo& model, const Shape& images, bool training = false, uint64_t seed = 1)
      : builder(&graph) {
    logits = model.build(builder, builder.Placeholder("images", images), training, seed);
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
    const Built built(model, true, 1);
    const Shape logits = built.graph.Info(built.logits).shape;
    EXPECT_EQ(logits.Rank(), 2) << model.name;
    EXPECT_EQ(logits[0] % Built::kBatch, 0) << model.name;
    EXPECT_EQ(logits[1], model.classes) << model.name;
    EXPECT_EQ(built.Parameters(), model.parameters) << model.name;
  }
}

TEST(ModelTest, ClassifiersHaveTorchvisionsParameters) {
  const std::vector<std::pair<std::string, int64_t>> torchvision = {
      {"alexnet", 61'100'840},      {"vgg16", 138'357'544},     {"googlenet", 6'624'904},
      {"inception_v3", 23'834'568}, {"resnet18", 11'689'512},   {"resnet50", 25'557'032},
      {"mobilenet_v2", 3'504'872},  {"densenet121", 7'978'856}, {"squeezenet1_1", 1'235'496}};
  for (const auto& [name, parameters] : torchvision) {
    EXPECT_EQ(Model(name).parameters, parameters) << name;
    EXPECT_EQ(Model(name).classes, 1000) << name;
  }
}

TEST(ModelTest, SegmenterPredictsEachPixel) {
  for (const Shape& shape : {Shape{2, 224, 224, 3}, Shape{1, 45, 67, 3}}) {
    const Built built(Model("segmenter"), shape);
    EXPECT_EQ(built.graph.Info(built.logits).shape, (Shape{shape[0] * shape[1] * shape[2], 2}));
  }
}

// What torchvision's comments say of the size of the image on its way.
TEST(ModelTest, StagesHaveTheSizesOfTorchvision) {
  const auto last_concat = [](const std::string& model, const std::string& before) {
    const Built built(Model(model), false, 1);
    Shape shape;
    for (NodeId id = 0; id < built.graph.Find(before); ++id) {
      if (built.graph.At(id).op == "ConcatV2") shape = built.graph.At(id).outputs[0].shape;
    }
    return shape;
  };
  constexpr int64_t kBatch = Built::kBatch;
  EXPECT_EQ(last_concat("googlenet", "inception4a/branch1/conv/filter"),
            (Shape{kBatch, 28, 28, 480}));
  EXPECT_EQ(last_concat("googlenet", "fc/weights"), (Shape{kBatch, 7, 7, 1024}));
  EXPECT_EQ(last_concat("inception_v3", "Mixed_6a/branch3x3/conv/filter"),
            (Shape{kBatch, 35, 35, 288}));
  EXPECT_EQ(last_concat("inception_v3", "Mixed_7a/branch3x3_1/conv/filter"),
            (Shape{kBatch, 17, 17, 768}));
  EXPECT_EQ(last_concat("inception_v3", "fc/weights"), (Shape{kBatch, 8, 8, 2048}));
  EXPECT_EQ(last_concat("densenet121", "classifier/weights"), (Shape{kBatch, 7, 7, 1024}));
  EXPECT_EQ(last_concat("squeezenet1_1", "classifier/1/filter"), (Shape{kBatch, 13, 13, 512}));
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
  EXPECT_EQ(last, (Shape{Built::kBatch, 8, 8, 64}));
}

TEST(ModelTest, OnlyTrainingUpdatesRunningStatistics) {
  EXPECT_EQ(Built(Model("resnet20"), false, 1).Count("AssignMovingAverage"), 0);
  EXPECT_EQ(Built(Model("resnet20"), true, 1).Count("AssignMovingAverage"), 2 * (19 + 3));
}

TEST(ModelTest, InitialWeightsComeFromTheSeedAlone) {
  for (const ModelInfo& model : Models()) {
    if (model.parameters > 30'000'000) continue;  // Two; four times half a gigabyte each.
    const Built training(model, true, 5), inference(model, false, 5), other(model, false, 6);
    for (Output variable : inference.builder.TrainableVariables()) {
      const std::string& name = inference.graph.At(variable.node).name;
      EXPECT_TRUE(SameBits(training.Initial(name), inference.Initial(name))) << name;
    }
    const std::string& first =
        inference.graph.At(inference.builder.TrainableVariables().front().node).name;
    EXPECT_FALSE(SameBits(inference.Initial(first), other.Initial(first))) << model.name;
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
