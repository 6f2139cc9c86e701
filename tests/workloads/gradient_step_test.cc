// Every model, forward and backward: the fast kernels against the reference loops, at small image
// sizes that no stride divides; the outputs of layers that go with the gradients; and the same bits
// however often a step is resized.

#include "workloads/gradient_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/topology.h"
#include "tests/workloads/expect_input_error.h"

namespace cosched {
namespace {

struct Case {
  std::string model;
  Shape images;
  // MobileNetV2 lives on: with channels that ReLU6 shuts off, its linear bottlenecks carry a few
  // values that the next norm magnifies, with their rounding.
  bool all_on = false;
};

void PrintTo(const Case& test, std::ostream* stream) { *stream << test.model; }

// A gradient jumps where an activation crosses a ReLU's kink, so near it rounding alone would
// decide. Offsets of the norms keep most activations away from it: channels are on or off.
void MoveFromKink(Tensor* offset, bool all_on, Random* random) {
  Tensor moved = offset->Clone();
  for (int64_t i = 0; i < moved.Elements(); ++i)
    moved.Floats()[i] = all_on ? 3.0f : random->Below(2) == 0 ? 2.0f : -1.4f;
  *offset = moved;
}

NamedTensors Inputs(const Case& test, uint64_t seed = 7) {
  const auto model = OpenModel(test.model);
  Graph graph;
  GraphBuilder builder(&graph);
  const Output logits = model->build(builder, builder.Placeholder("images", test.images), true, 1);
  Random random(seed);
  Tensor images(test.images), labels(Shape{graph.Info(logits).shape[0]}, DataType::kInt32);
  for (int64_t i = 0; i < images.Elements(); ++i)
    images.Floats()[i] = static_cast<float>(random.Normal(0, 1));
  for (int64_t i = 0; i < labels.Elements(); ++i)
    labels.Ints()[i] = static_cast<int32_t>(random.Below(static_cast<uint64_t>(model->classes)));
  NamedTensors inputs = {{"images", images}, {"labels", labels}};
  for (const std::string& name : WeightNames(graph)) {
    Tensor value = GetAttribute<Tensor>(graph.At(graph.Find(name)), "initial");
    if (name.ends_with("/offset")) MoveFromKink(&value, test.all_on, &random);
    inputs.emplace(name, value);
  }
  return inputs;
}

SessionOptions Options(KernelBackend backend) {
  SessionOptions options;
  options.inter_op_parallelism_threads = 2;
  options.intra_op_parallelism_threads = 2;
  options.backend = backend;
  return options;
}

double Distance(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.Elements(); ++i) sum += std::pow(a.Floats()[i] - b.Floats()[i], 2);
  return std::sqrt(sum);
}

double Norm(const Tensor& a) {
  double sum = 0;
  for (int64_t i = 0; i < a.Elements(); ++i) sum += std::pow(a.Floats()[i], 2);
  return std::sqrt(sum);
}

// Whether all elements are positive in both or in neither.
bool SameSigns(const NamedTensors& a, const NamedTensors& b) {
  return std::ranges::all_of(a, [&b](const auto& item) {
    const float *values = item.second.Floats(), *others = b.at(item.first).Floats();
    for (int64_t i = 0; i < item.second.Elements(); ++i) {
      if ((values[i] > 0) != (others[i] > 0)) return false;
    }
    return true;
  });
}

// Relative to the tensor's norm; some gradients are 0 but for rounding (of an offset whose effect
// the next norm removes), so a ten-thousandth of all gradients' norm is the least.
void ExpectSameGradients(const NamedTensors& actual, const NamedTensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  double squares = 0;
  for (const auto& [name, value] : expected) {
    if (name != "loss" && name != "logits") squares += std::pow(Norm(value), 2);
  }
  for (const auto& [name, value] : expected) {
    const double norm = std::max(Norm(value), 1e-4 * std::sqrt(squares));
    EXPECT_LT(Distance(actual.at(name), value) / norm, 1e-3) << name;
  }
}

class GradientStepTest : public ::testing::TestWithParam<Case> {};

// Where rounding decides whether a single ReLU is on, both gradients are right, and differ: inputs
// are looked for with which no sign is another one. What layers give agrees with all inputs.
TEST_P(GradientStepTest, FastKernelsAgreeWithTheReference) {
  const auto model = OpenModel(GetParam().model);
  for (uint64_t seed = 7; seed < 15; ++seed) {
    const NamedTensors inputs = Inputs(GetParam(), seed);
    GradientStep reference(*model, inputs, "test", Options(KernelBackend::kReference));
    GradientStep fast(*model, inputs, "test", Options(KernelBackend::kFast));
    const NamedTensors expected = reference.LayerOutputs(), actual = fast.LayerOutputs();
    ASSERT_EQ(actual.size(), expected.size());
    for (const auto& [layer, value] : expected)
      ASSERT_LT(Distance(actual.at(layer), value), 1e-3 * Norm(value)) << layer;
    if (!SameSigns(actual, expected)) continue;
    ExpectSameGradients(fast.Run(), reference.Run());
    return;
  }
  FAIL() << "with every seed a sign is another one";
}

std::vector<Case> Cases() {
  return {{"lenet5", {3, 28, 28, 1}},
          {"resnet20", {3, 13, 11, 3}},
          {"resnet56", {3, 13, 11, 3}},
          {"segmenter", {2, 29, 21, 3}},
          {"alexnet", {1, 67, 69, 3}},
          {"vgg16", {1, 33, 35, 3}},
          {"googlenet", {4, 45, 53, 3}},
          {"inception_v3", {4, 75, 77, 3}},
          {"resnet18", {2, 45, 37, 3}},
          {"resnet50", {2, 45, 37, 3}},
          {"densenet121", {2, 65, 67, 3}},
          {"squeezenet1_1", {2, 37, 45, 3}},
          {"mobilenet_v2", {8, 45, 37, 3}, true}};
}

INSTANTIATE_TEST_SUITE_P(EveryModel, GradientStepTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.model; });

TEST(GradientStepInputTest, EveryModelIsACase) {
  for (const ModelInfo& model : Models())
    EXPECT_EQ(std::ranges::count(Cases(), model.name, &Case::model), 1) << model.name;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.GetShape() == b.GetShape() && std::memcmp(a.Data(), b.Data(), a.Bytes()) == 0;
}

TEST(LayerOutputsTest, AreThoseOfTheStepByLayer) {
  const Case test = {"lenet5", {3, 28, 28, 1}};
  GradientStep step(*OpenModel(test.model), Inputs(test), "test", Options(KernelBackend::kFast));
  const NamedTensors gradients = step.Run(), layers = step.LayerOutputs();
  std::map<std::string, Shape> shapes;
  for (const auto& [layer, output] : layers) shapes.emplace(layer, output.GetShape());
  EXPECT_EQ(shapes, (std::map<std::string, Shape>{{"conv1", {3, 28, 28, 6}},
                                                  {"conv2", {3, 10, 10, 16}},
                                                  {"fc1", {3, 120}},
                                                  {"fc2", {3, 84}},
                                                  {"fc3", {3, 10}}}));
  EXPECT_TRUE(SameBits(layers.at("fc3"), gradients.at("logits")));
  // A unit learns where its ReLU lets an image pass: where its output, before that, is positive.
  int silent = 0;
  for (int64_t unit = 0; unit < 84; ++unit) {
    bool passes = false;
    for (int64_t image = 0; image < 3; ++image)
      passes = passes || layers.at("fc2").Floats()[image * 84 + unit] > 0;
    EXPECT_EQ(gradients.at("fc2/bias").Floats()[unit] != 0, passes) << unit;
    silent += passes ? 0 : 1;
  }
  EXPECT_GT(silent, 0);
  // Asking for them changes nothing.
  for (const auto& [name, value] : step.Run()) EXPECT_TRUE(SameBits(value, gradients.at(name)));
}

TEST(LayerOutputsTest, OfBatchNormsAndOfConvolutionsWithBias) {
  const Case test = {"segmenter", {2, 29, 21, 3}};
  const NamedTensors inputs = Inputs(test);
  const auto outputs = [&](KernelBackend backend) {
    return GradientStep(*OpenModel(test.model), inputs, "test", Options(backend)).LayerOutputs();
  };
  const NamedTensors expected = outputs(KernelBackend::kReference);
  const NamedTensors actual = outputs(KernelBackend::kFast);
  ASSERT_EQ(expected.size(), 8U);
  for (const std::string layer : {"down1/bn", "context8/bn", "scores"})
    EXPECT_TRUE(expected.contains(layer)) << layer;
  for (const auto& [layer, value] : expected)
    EXPECT_LT(Distance(actual.at(layer), value), 1e-4 * Norm(value)) << layer;
}

class ResizedStepTest : public ::testing::TestWithParam<Case> {};

// Cores and split change at random while the step runs.
TEST_P(ResizedStepTest, GradientsHaveTheSameBits) {
  const NamedTensors inputs = Inputs(GetParam());
  const auto model = OpenModel(GetParam().model);
  GradientStep step(*model, inputs, "test", Options(KernelBackend::kFast));
  const NamedTensors expected = step.Run();
  std::atomic<int64_t> resizes = 0;
  std::jthread resizer([&](const std::stop_token& stop) {
    Random random(3);
    const std::vector<int> cpus = Topology::ThisMachine().Cpus().ToVector();
    while (!stop.stop_requested()) {
      const CpuSet cores = {cpus[random.Below(cpus.size())], cpus[random.Below(cpus.size())]};
      const int size = static_cast<int>(random.Below(3));
      const Split split = {1 + static_cast<int>(random.Below(2)), size};
      step.session().Resize(size == 0 ? CpuSet{} : cores, size == 0 ? Split{0, 0} : split);
      ++resizes;
      std::this_thread::sleep_for(std::chrono::microseconds(200 + random.Below(1000)));
    }
    step.session().Resize(CpuSet{cpus[0]}, {1, 1});  // Not paused for ever.
  });
  const auto differences = [&expected](const NamedTensors& actual) {
    return std::ranges::count_if(expected, [&actual](const auto& item) {
      return !SameBits(actual.at(item.first), item.second);
    });
  };
  for (int64_t run = 0; run < 3 || resizes < 20; ++run) ASSERT_EQ(differences(step.Run()), 0);
}

INSTANTIATE_TEST_SUITE_P(EachFamily, ResizedStepTest,
                         ::testing::Values(Case{"resnet18", {4, 45, 37, 3}},
                                           Case{"googlenet", {4, 45, 53, 3}},
                                           Case{"mobilenet_v2", {8, 45, 37, 3}, true},
                                           Case{"squeezenet1_1", {4, 37, 45, 3}},
                                           Case{"segmenter", {4, 61, 45, 3}}),
                         [](const auto& info) { return info.param.model; });

TEST(GradientStepInputTest, WhatDoesNotFitIsOneError) {
  const Case lenet = {"lenet5", {2, 28, 28, 1}};
  const auto model = OpenModel("lenet5");
  const auto expect = [&](const NamedTensors& inputs, const std::string& text) {
    ExpectInputError([&] { GradientStep step(*model, inputs, "a file", {}); }, "a file", text);
  };
  NamedTensors inputs = Inputs(lenet);
  inputs.erase("labels");
  expect(inputs, "lacks \"labels\"");
  inputs = Inputs(lenet);
  inputs.at("images") = Tensor(Shape{2, 28, 28, 3});
  expect(inputs, "[2,28,28,3]");
  inputs = Inputs(lenet);
  inputs.at("labels").Ints()[1] = 10;
  expect(inputs, "has a 10");
  inputs = Inputs(lenet);
  inputs.at("labels") = Tensor(Shape{3}, DataType::kInt32);
  expect(inputs, "int32 [2]");
  inputs = Inputs(lenet);
  inputs.erase("conv2/bias");
  expect(inputs, "lacks \"conv2/bias\"");
}

}  // namespace
}  // namespace cosched
