// _FusedLayerNorm against its definition, and as every fast kernel: what the naive loops give, the
// same bits at any number of threads. Other ops' tests: fast_kernels_test.cc.

#include <numbers>
#include <span>

#include "tests/engine/kernels/kernel_fixture.h"

namespace cosched::testing {
namespace {

Tensor Row(const std::vector<float>& values) {
  return Tensor::Of({static_cast<int64_t>(values.size())}, std::span<const float>(values));
}

OpCase LayerNorm(const Tensor& x, float epsilon = 1e-6f) {
  const Shape channels{x.GetShape().Sizes().back()};
  return {"_FusedLayerNorm_" + x.GetShape().ToString(),
          "_FusedLayerNorm",
          {x, RandomTensor(channels, 2, 0.5, 2), RandomTensor(channels, 3)},
          {{"epsilon", epsilon}}};
}

// Rows shorter and longer than vectors, no multiple of them, and those of ConvNeXt; means far from
// zero, where a sum of squares would lose the variance.
std::vector<OpCase> Cases() {
  std::vector<OpCase> cases;
  for (const Shape& shape : {Shape{5, 1}, Shape{3, 7, 5, 13}, Shape{2, 3, 16}, Shape{7, 33},
                             Shape{2, 56, 56, 96}, Shape{1, 7, 7, 768}})
    cases.push_back(LayerNorm(RandomTensor(shape, 1, 99, 101)));
  return cases;
}

class LayerNormTest : public ::testing::TestWithParam<KernelBackend> {};
INSTANTIATE_TEST_SUITE_P(Backends, LayerNormTest,
                         ::testing::Values(KernelBackend::kReference, KernelBackend::kFast));

TEST_P(LayerNormTest, FollowsItsDefinition) {
  // Means 2 and -1; variances 2/3 and 0, to which epsilon is added.
  const OpCase c{
      "",
      "_FusedLayerNorm",
      {Tensor::Of({2, 3}, std::span<const float>(std::vector<float>{1, 2, 3, -1, -1, -1})),
       Row({1, 2, 10}), Row({0, 5, 1})},
      {{"epsilon", 10.0f / 3}}};
  TestPools pools({1, 1});
  OpRun run(c, pools, GetParam());
  run.Compute();
  const float expected[] = {-0.5f, 5, 6, 0, 5, 1};
  for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(run.Outputs()[0].Floats()[i], expected[i], 1e-6f);
}

TEST_P(LayerNormTest, GeluAndErfFollowTheirDefinitions) {
  TestPools pools({1, 1});
  const Tensor x = Row({-6, -1, 0, 0.5f, std::numbers::sqrt2_v<float>, 6});
  OpRun erf({"", "Erf", {x}, {}}, pools, GetParam()),
      gelu({"", "Gelu", {x}, {}}, pools, GetParam());
  erf.Compute();
  gelu.Compute();
  // From tables of the error function and of the normal distribution.
  const float of_erf[] = {-1, -0.842700793f, 0, 0.520499878f, 0.954499736f, 1};
  const float of_gelu[] = {0, -0.158655254f, 0, 0.345731231f, 1.302986f, 6};
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(erf.Outputs()[0].Floats()[i], of_erf[i], 1e-6f) << i;
    EXPECT_NEAR(gelu.Outputs()[0].Floats()[i], of_gelu[i], 2e-6f) << i;
  }
}

TEST(FastLayerNorm, AgreesWithNaiveLoopsWholeAndInPieces) {
  TestPools one({1, 1});
  for (const OpCase& c : Cases()) {
    OpRun expected(c, one, KernelBackend::kReference);
    expected.Compute();
    for (const PoolSize& size : {PoolSize{1, 1}, {2, 2}, {8, 2}}) {
      for (int piece_time : {2000, 1}) {
        SCOPED_TRACE(::testing::Message() << c << " " << size << " " << piece_time);
        TestPools pools(size);
        OpRun actual(c, pools, KernelBackend::kFast, std::chrono::microseconds(piece_time));
        actual.Compute();
        ExpectClose(expected.Outputs()[0], actual.Outputs()[0], 1e-4f);
      }
    }
  }
}

TEST(FastLayerNorm, GivesTheSameBitsHoweverManyThreadsWork) {
  for (const OpCase& c : Cases()) {
    std::vector<Tensor> expected;
    for (int active : {1, 2, 3, 8}) {
      TestPools pools({8, active});
      OpRun run(c, pools, KernelBackend::kFast);
      for (int step = 0; step < 3; ++step) run.Compute();
      if (expected.empty()) expected = run.Outputs();
      EXPECT_TRUE(SameBits(expected[0], run.Outputs()[0])) << c << " " << active;
    }
  }
}

TEST(FastLayerNorm, TakesImagesOfBFloat16) {
  TestPools pools({2, 2});
  OpCase c = LayerNorm(RandomTensor({2, 5, 3, 37}, 1));
  c.inputs[0] = c.inputs[0].ConvertedTo(DataType::kBFloat16);
  OpRun expected(c, pools, KernelBackend::kReference), actual(c, pools, KernelBackend::kFast);
  expected.Compute();
  actual.Compute();
  ASSERT_EQ(actual.Outputs()[0].Type(), DataType::kBFloat16);
  ExpectClose(expected.Outputs()[0], actual.Outputs()[0], 1.0f / 64);
}

}  // namespace
}  // namespace cosched::testing
