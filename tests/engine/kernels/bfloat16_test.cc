// Kernels on bfloat16 images against the naive loops, which work on floats and round the result.

#include "engine/graph/image_types.h"
#include "tests/engine/kernels/op_cases.h"

namespace cosched::testing {
namespace {

// The case with its images in bfloat16.
OpCase Halved(OpCase c) {
  const ImageTypes types = ImageTypesOf(c.op);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (types.HasInput(i)) c.inputs[i] = c.inputs[i].ConvertedTo(DataType::kBFloat16);
  }
  return c;
}

std::vector<std::string> OpsOnImages() {
  std::vector<std::string> ops;
  for (const std::string& op : OpsWithCases()) {
    if (ImageTypesOf(op).inputs != 0) ops.push_back(op);
  }
  return ops;
}

// bfloat16 has 8 bits of precision: results may differ in the last one, and MaxPoolGrad adds up
// rounded sums. Floats are sums of products of the same numbers.
void ExpectSimilar(const OpRun& expected, const OpRun& actual) {
  for (size_t i = 0; i < expected.Outputs().size(); ++i) {
    const Tensor &a = expected.Outputs()[i], &b = actual.Outputs()[i];
    ASSERT_EQ(a.Type(), b.Type());
    const bool half = a.Type() == DataType::kBFloat16;
    ExpectClose(a.ConvertedTo(DataType::kFloat), b.ConvertedTo(DataType::kFloat),
                half ? 1.0f / 64 : 1e-4f);
  }
}

class BFloat16Kernel : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!CpuHasBFloat16()) GTEST_SKIP() << "this CPU has no bfloat16 instructions";
  }
};
INSTANTIATE_TEST_SUITE_P(EveryOp, BFloat16Kernel, ::testing::ValuesIn(OpsOnImages()),
                         [](const auto& info) { return info.param; });

TEST_P(BFloat16Kernel, AgreesWithNaiveLoopsWholeAndInPieces) {
  TestPools one({1, 1}), two({2, 2});
  for (const OpCase& full : CasesOf(GetParam())) {
    const OpCase c = Halved(full);
    OpRun expected(c, one, KernelBackend::kReference);
    expected.Compute();
    for (int piece_time : {2000, 20, 1}) {
      SCOPED_TRACE(::testing::Message() << c << " " << piece_time);
      OpRun actual(c, two, KernelBackend::kFast, std::chrono::microseconds(piece_time));
      for (int step = 0; step < 2; ++step) actual.Compute();
      ExpectSimilar(expected, actual);
    }
  }
}

TEST_P(BFloat16Kernel, GivesTheSameBitsHoweverManyThreadsWork) {
  for (const OpCase& full : CasesOf(GetParam())) {
    const OpCase c = Halved(full);
    TestPools one({8, 1}), three({8, 3});
    OpRun expected(c, one, KernelBackend::kFast), actual(c, three, KernelBackend::kFast);
    expected.Compute();
    actual.Compute();
    for (size_t i = 0; i < expected.Outputs().size(); ++i)
      EXPECT_TRUE(SameBits(expected.Outputs()[i], actual.Outputs()[i])) << c;
  }
}

TEST(CastKernel, RoundsToTheNearestEvenAndBack) {
  TestPools pools({1, 1});
  const float exact = 1.0f, tie = 1.00390625f, above = 1.0039064f;  // One, and half a step more.
  const std::vector<float> values{exact, tie, above, -tie, 65537, 0};
  const OpCase c{
      "Cast", "Cast", {Tensor::Of({6}, std::span<const float>(values))}, {{"dtype", "bfloat16"}}};
  const std::vector<float> rounded{1, 1, 1.0078125f, -1, 65536, 0};
  for (KernelBackend backend : {KernelBackend::kReference, KernelBackend::kFast}) {
    OpRun run(c, pools, backend);
    run.Compute();
    const Tensor back = run.Outputs()[0].ConvertedTo(DataType::kFloat);
    for (size_t i = 0; i < rounded.size(); ++i) EXPECT_EQ(back.Floats()[i], rounded[i]);
  }
}

}  // namespace
}  // namespace cosched::testing
