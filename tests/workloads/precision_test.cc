// Programs whose images are bfloat16: they answer and learn as those of floats do, or are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/base/random.h"
#include "engine/kernels/kernel.h"
#include "tests/workloads/expect_input_error.h"
#include "workloads/model.h"
#include "workloads/program.h"
#include "workloads/training_job.h"

namespace cosched {
namespace {

TEST(PrecisionTest, TextsRoundTrip) {
  for (Precision precision : {Precision::kFloat, Precision::kBFloat16}) {
    Precision parsed = Precision::kFloat;
    EXPECT_TRUE(ParsePrecision(ToString(precision), &parsed));
    EXPECT_EQ(parsed, precision);
  }
  Precision untouched = Precision::kBFloat16;
  EXPECT_FALSE(ParsePrecision("fp16", &untouched));
  EXPECT_EQ(untouched, Precision::kBFloat16);
}

TEST(PrecisionTest, IsRefusedWhereTheCpuLacksIt) {
  EXPECT_EQ(PrecisionProblem(Precision::kFloat), "");
  EXPECT_EQ(PrecisionProblem(Precision::kBFloat16).empty(), CpuHasBFloat16());
  if (CpuHasBFloat16()) return;
  JobSettings settings;
  settings.precision = Precision::kBFloat16;
  ExpectInputError([&] { TrainingJob job(settings); }, "precision", "AVX-512 BF16");
}

class HalvedProgram : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!CpuHasBFloat16()) GTEST_SKIP() << "this CPU has no bfloat16 instructions";
  }
};
INSTANTIATE_TEST_SUITE_P(Models, HalvedProgram, ::testing::Values("lenet5", "resnet20"));

Tensor Scores(const ModelInfo& model, Precision precision, const Tensor& images) {
  ModelProgram program(model, {.batch = static_cast<int>(images.GetShape()[0]),
                               .precision = precision,
                               .session = {.intra_op_parallelism_threads = 2}});
  return program.session().Run({{ModelProgram::kImages, images}}, program.fetches())[0];
}

TEST_P(HalvedProgram, GivesTheScoresOfFloatsButForRounding) {
  const auto model = OpenModel(GetParam());
  Tensor images({4, model->image[0], model->image[1], model->image[2]});
  Random random(3);
  for (int64_t i = 0; i < images.Elements(); ++i)
    images.Floats()[i] = static_cast<float>(random.Uniform(-1, 1));
  const Tensor expected = Scores(*model, Precision::kFloat, images);
  const Tensor actual = Scores(*model, Precision::kBFloat16, images);
  float largest = 0, difference = 0;
  for (int64_t i = 0; i < expected.Elements(); ++i) {
    largest = std::max(largest, std::abs(expected.Floats()[i]));
    difference = std::max(difference, std::abs(expected.Floats()[i] - actual.Floats()[i]));
  }
  EXPECT_LT(difference, 0.05f * largest);
  EXPECT_GT(difference, 0) << "nothing was rounded";
}

// Losses of the first steps and of the last, each a mean over several.
struct Losses {
  double first = 0, last = 0;
};

Losses Train(const std::string& name, Precision precision) {
  JobSettings settings;
  settings.model = name;
  settings.precision = precision;
  settings.batch = 16;
  settings.session.intra_op_parallelism_threads = 2;
  TrainingJob job(settings);
  constexpr int kSteps = 40, kSeveral = 8;
  Losses losses;
  for (int step = 0; step < kSteps; ++step) {
    const double loss = job.Step().loss / kSeveral;
    if (step < kSeveral) losses.first += loss;
    if (step >= kSteps - kSeveral) losses.last += loss;
  }
  return losses;
}

TEST_P(HalvedProgram, LearnsAsFloatsDo) {
  const Losses floats = Train(GetParam(), Precision::kFloat);
  const Losses halves = Train(GetParam(), Precision::kBFloat16);
  EXPECT_LT(floats.last, 0.8 * floats.first);
  EXPECT_NEAR(halves.first, floats.first, 0.05 * floats.first);
  EXPECT_NEAR(halves.last, floats.last, 0.1 * floats.first);
}

TEST(PrecisionTest, ResizingLeavesTheSameWeights) {
  if (!CpuHasBFloat16()) GTEST_SKIP() << "this CPU has no bfloat16 instructions";
  const auto filter_after = [](bool resized) {
    JobSettings settings;
    settings.model = "lenet5";
    settings.precision = Precision::kBFloat16;
    settings.session.intra_op_parallelism_threads = 4;
    TrainingJob job(settings);
    for (int step = 0; step < 6; ++step) {
      if (resized) job.session().Resize(CpuSet::Range(0, step % 4), {1, step % 4 + 1});
      job.Step();
    }
    return job.session().Variable("conv1/filter");
  };
  const Tensor still = filter_after(false), moved = filter_after(true);
  for (int64_t i = 0; i < still.Elements(); ++i)
    ASSERT_EQ(still.Floats()[i], moved.Floats()[i]) << i;
}

}  // namespace
}  // namespace cosched
