// Sums of batch norms over many rows: how far rounding takes them from the same sums in double
// precision. Layers that follow magnify it, so that gradients of deep networks would show it.

#include "tests/engine/kernels/kernel_fixture.h"

namespace cosched::testing {
namespace {

const Shape kImages = {4, 112, 112, 8};  // 50176 rows.

double Value(const Tensor& tensor, int64_t i) { return static_cast<double>(tensor.Floats()[i]); }

// sum(i) over the rows of a channel, i their elements.
template <typename Term>
double OverRows(int64_t channel, Term term) {
  double sum = 0;
  for (int64_t i = channel; i < kImages.Elements(); i += kImages[3]) sum += term(i);
  return sum;
}

class ManyRows : public ::testing::TestWithParam<PoolSize> {
 protected:
  static constexpr double kRounding = 3e-7;
  static constexpr float kEpsilon = 1e-5f;

  const Tensor x_ = RandomTensor(kImages, 1, -1, 3);  // Mean 1, variance 4/3.
  const double rows_ = static_cast<double>(kImages.Elements() / kImages[3]);
  const Tensor scale_ = RandomTensor({kImages[3]}, 2, 0.5, 1.5);
  TestPools pools_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Pools, ManyRows,
                         ::testing::Values(PoolSize{1, 1}, PoolSize{2, 2}, PoolSize{8, 2}));

TEST_P(ManyRows, StatisticsAreThoseOfDoublePrecision) {
  const Tensor offset = RandomTensor({kImages[3]}, 3), unused = offset;
  OpRun run({"forward",
             "FusedBatchNormV3",
             {x_, scale_, offset, unused, unused},
             {{"epsilon", kEpsilon}, {"is_training", true}}},
            pools_, KernelBackend::kFast);
  run.Compute();
  for (int64_t channel = 0; channel < kImages[3]; ++channel) {
    const double mean = OverRows(channel, [&](int64_t i) { return Value(x_, i); }) / rows_;
    const double variance =
        OverRows(channel, [&](int64_t i) { return std::pow(Value(x_, i) - mean, 2); }) / rows_;
    EXPECT_NEAR(Value(run.Outputs()[1], channel), mean, kRounding * mean);
    EXPECT_NEAR(Value(run.Outputs()[2], channel), variance, kRounding * variance);
  }
}

TEST_P(ManyRows, GradientsAreThoseOfDoublePrecision) {
  const Tensor dy = RandomTensor(kImages, 4, 0, 1);
  const Tensor mean = RandomTensor({kImages[3]}, 5, 0.9, 1.1);
  const Tensor variance = RandomTensor({kImages[3]}, 6, 1.2, 1.5);
  OpRun run({"backward",
             "FusedBatchNormGradV3",
             {dy, x_, scale_, mean, variance},
             {{"epsilon", kEpsilon}}},
            pools_, KernelBackend::kFast);
  run.Compute();
  for (int64_t channel = 0; channel < kImages[3]; ++channel) {
    const double inverse = 1 / std::sqrt(Value(variance, channel) + kEpsilon);
    const auto term = [&](int64_t i) {
      return Value(dy, i) * (Value(x_, i) - Value(mean, channel)) * inverse;
    };
    const double d_scale = OverRows(channel, term);
    const double summed = OverRows(channel, [&](int64_t i) { return std::abs(term(i)); });
    const double d_offset = OverRows(channel, [&](int64_t i) { return Value(dy, i); });
    EXPECT_NEAR(Value(run.Outputs()[1], channel), d_scale, kRounding * summed);
    EXPECT_NEAR(Value(run.Outputs()[2], channel), d_offset, kRounding * d_offset);
  }
}

}  // namespace
}  // namespace cosched::testing
