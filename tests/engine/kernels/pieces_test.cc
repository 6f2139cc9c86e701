// Long ops are cut into pieces: these give what the whole gives, the same bits at any number of
// workers, and there are as many as the work is worth.

#include "engine/kernels/pieces.h"

#include <atomic>
#include <thread>

#include "tests/engine/kernels/op_cases.h"

namespace cosched::testing {
namespace {

using std::chrono::microseconds;

constexpr microseconds kNever{0}, kTiny{1}, kShort{20};

TEST(Division, PartsDifferByOneAndCoverAll) {
  for (int64_t count : {1, 2, 7, 13, 100, 101}) {
    for (double fitting : {0.3, 1.0, 2.5, 6.0, 99.0, 200.0}) {
      const Division division = Division::Of(count, 1.0, fitting);
      int64_t total = 0;
      for (int64_t part = 0; part < division.parts; ++part) {
        EXPECT_EQ(division.Begin(part), total);
        EXPECT_GE(division.Size(part), 1);
        EXPECT_LE(division.Size(part), std::max(fitting, 1.0));
        EXPECT_LE(division.Size(0) - division.Size(part), 1);
        total += division.Size(part);
      }
      EXPECT_EQ(total, count);
    }
  }
}

TEST(Division, KeepsPartsAboveTheLeast) {
  EXPECT_EQ(Division::Of(10, 1.0, 1.0, 3).parts, 3);
  EXPECT_EQ(Division::Of(2, 1.0, 1.0, 3).parts, 1);
}

TEST(PieceSeconds, GrowsWithTasksAndIsEndlessForZero) {
  EXPECT_DOUBLE_EQ(PieceSeconds(microseconds(2000), 1), 2e-3);
  EXPECT_DOUBLE_EQ(PieceSeconds(microseconds(2000), 4), 2e-3);
  EXPECT_DOUBLE_EQ(PieceSeconds(microseconds(2000), 16), 8e-3);
  EXPECT_EQ(Division::Of(1'000'000, 1.0, PieceSeconds(kNever, 1)).parts, 1);
}

std::string CaseName(const ::testing::TestParamInfo<OpCase>& info) { return info.param.name; }

class CutKernel : public ::testing::TestWithParam<OpCase> {};
INSTANTIATE_TEST_SUITE_P(EveryOp, CutKernel, ::testing::ValuesIn(AllCases()), CaseName);

TEST_P(CutKernel, AgreesWithNaiveLoops) {
  TestPools one({1, 1});
  OpRun expected(GetParam(), one, KernelBackend::kReference);
  expected.Compute();
  for (const PoolSize& size : {PoolSize{1, 1}, {2, 2}, {8, 2}}) {
    for (const microseconds& piece_time : {kTiny, kShort}) {
      SCOPED_TRACE(::testing::Message() << size << " " << piece_time.count());
      TestPools pools(size);
      OpRun actual(GetParam(), pools, KernelBackend::kFast, piece_time);
      actual.Compute();
      for (size_t i = 0; i < expected.Outputs().size(); ++i)
        ExpectClose(expected.Outputs()[i], actual.Outputs()[i]);
      for (size_t i = 0; i < expected.Inputs().size(); ++i)  // Variables that the op writes.
        ExpectClose(expected.Inputs()[i], actual.Inputs()[i]);
    }
  }
}

TEST_P(CutKernel, GivesTheSameBitsWhileThePoolIsResizedWithinAndBetweenPieces) {
  TestPools pools({8, 1});
  OpRun run(GetParam(), pools, KernelBackend::kFast, kTiny),
      resized(GetParam(), pools, KernelBackend::kFast, kTiny);
  constexpr int kSteps = 3;
  for (int step = 0; step < kSteps; ++step) run.Compute();
  std::atomic<bool> stop = false;
  std::thread resizer([&] {
    Random random(26);
    while (!stop) {
      pools.SetActive(1 + static_cast<int>(random.Below(8)));
      std::this_thread::sleep_for(microseconds(random.Below(50)));
    }
  });
  Random random(27);
  for (int step = 0; step < kSteps; ++step) {
    for (int piece = 0; piece < resized.Pieces(); ++piece) {
      pools.SetActive(1 + static_cast<int>(random.Below(8)));
      resized.ComputePiece(piece);
    }
  }
  stop = true;
  resizer.join();
  for (size_t i = 0; i < run.Outputs().size(); ++i)
    EXPECT_TRUE(SameBits(run.Outputs()[i], resized.Outputs()[i]));
}

}  // namespace
}  // namespace cosched::testing
