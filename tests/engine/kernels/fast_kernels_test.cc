// Every fast kernel gives what the naive loops give, at every pool size, and the same bits however
// many threads work on it.

#include <atomic>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "tests/engine/kernels/op_cases.h"

namespace cosched::testing {
namespace {

std::string CaseName(const ::testing::TestParamInfo<OpCase>& info) { return info.param.name; }

class FastKernel : public ::testing::TestWithParam<OpCase> {};
INSTANTIATE_TEST_SUITE_P(EveryOp, FastKernel, ::testing::ValuesIn(AllCases()), CaseName);

TEST_P(FastKernel, AgreesWithNaiveLoopsAtEveryPoolSize) {
  TestPools one({1, 1});
  OpRun expected(GetParam(), one, KernelBackend::kReference);
  expected.Compute();
  for (const PoolSize& size : {PoolSize{1, 1}, {2, 2}, {8, 8}, {8, 1}, {8, 2}}) {
    SCOPED_TRACE(::testing::Message() << size);
    TestPools pools(size);
    OpRun actual(GetParam(), pools, KernelBackend::kFast);
    actual.Compute();
    for (size_t i = 0; i < expected.Outputs().size(); ++i)
      ExpectClose(expected.Outputs()[i], actual.Outputs()[i]);
    for (size_t i = 0; i < expected.Inputs().size(); ++i)  // Variables that the op writes.
      ExpectClose(expected.Inputs()[i], actual.Inputs()[i]);
  }
}

TEST_P(FastKernel, GivesTheSameBitsHoweverManyThreadsWork) {
  constexpr int kSteps = 3;  // Also the cached memory of a first step must not show in the next.
  std::vector<Tensor> expected;
  for (int active : {1, 2, 3, 8}) {
    SCOPED_TRACE(active);
    TestPools pools({8, active});
    OpRun run(GetParam(), pools, KernelBackend::kFast);
    for (int step = 0; step < kSteps; ++step) run.Compute();
    if (expected.empty()) expected = run.Outputs();
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(SameBits(expected[i], run.Outputs()[i]));
  }
}

TEST_P(FastKernel, GivesTheSameBitsWhileThePoolIsResized) {
  TestPools pools({8, 1});
  OpRun run(GetParam(), pools, KernelBackend::kFast),
      resized(GetParam(), pools, KernelBackend::kFast);
  std::atomic<bool> stop = false;
  constexpr int kSteps = 5;
  for (int step = 0; step < kSteps; ++step) run.Compute();
  std::thread resizer([&] {
    Random random(25);
    while (!stop) {
      pools.SetActive(1 + static_cast<int>(random.Below(8)));
      std::this_thread::sleep_for(std::chrono::microseconds(random.Below(50)));
    }
  });
  for (int step = 0; step < kSteps; ++step) resized.Compute();
  stop = true;
  resizer.join();
  for (size_t i = 0; i < run.Outputs().size(); ++i)
    EXPECT_TRUE(SameBits(run.Outputs()[i], resized.Outputs()[i]));
}

// The ops of the table in engine/graph/ops.md, without those that the session executes.
std::set<std::string> OpsInTheManual() {
  std::set<std::string> ops;
  std::ifstream manual(COSCHED_SOURCE_DIR "/engine/graph/ops.md");
  for (std::string line; std::getline(manual, line);) {
    if (!line.starts_with("| ") || line.starts_with("| op ")) continue;
    std::istringstream names(line.substr(2, line.find(" |", 2) - 2));
    for (std::string name; std::getline(names >> std::ws, name, ',');) ops.insert(name);
  }
  for (const char* op : {"Placeholder", "Const", "VariableV2", "Reshape", "NoOp"}) ops.erase(op);
  return ops;
}

TEST(KernelTable, HasEveryOpOfTheManual) {
  const std::set<std::string> ops = OpsInTheManual();
  EXPECT_GE(ops.size(), 23u);
  for (const std::string& op : ops) EXPECT_TRUE(HasKernel(op)) << op;
  EXPECT_FALSE(HasKernel("Placeholder"));
  EXPECT_FALSE(HasKernel("Conv3D"));
}

TEST(KernelTable, EveryOpHasACase) {
  std::set<std::string> tested;
  for (const OpCase& c : AllCases()) tested.insert(c.op);
  EXPECT_EQ(OpsInTheManual(), tested);
}

TEST(KernelTable, ConvolutionsAreNeverCheap) {
  EXPECT_FALSE(IsCheap("Conv2D"));
  EXPECT_FALSE(IsCheap("MatMul"));
  EXPECT_TRUE(IsCheap("Softmax"));
}

}  // namespace
}  // namespace cosched::testing
