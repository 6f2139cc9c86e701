// Every fast kernel gives what the naive loops give, at every pool size, and the same bits however
// many threads work on it.

#include <atomic>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "tests/engine/kernels/op_cases.h"
#include "tests/paths.h"

namespace cosched::testing {
namespace {

class FastKernel : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(EveryOp, FastKernel, ::testing::ValuesIn(OpsWithCases()),
                         [](const auto& info) { return info.param; });

TEST_P(FastKernel, AgreesWithNaiveLoopsAtEveryPoolSize) {
  TestPools one({1, 1});
  for (const OpCase& c : CasesOf(GetParam())) {
    OpRun expected(c, one, KernelBackend::kReference);
    expected.Compute();
    for (const PoolSize& size : {PoolSize{1, 1}, {2, 2}, {8, 8}, {8, 1}, {8, 2}}) {
      SCOPED_TRACE(::testing::Message() << c << " " << size);
      TestPools pools(size);
      OpRun actual(c, pools, KernelBackend::kFast);
      actual.Compute();
      ExpectAllClose(expected, actual);
    }
  }
}

TEST_P(FastKernel, GivesTheSameBitsHoweverManyThreadsWork) {
  constexpr int kSteps = 3;  // Also the cached memory of a first step must not show in the next.
  for (const OpCase& c : CasesOf(GetParam())) {
    for (int capacity : {8, 64}) {
      std::vector<Tensor> expected;
      for (int active : {1, 2, 3, 8}) {
        SCOPED_TRACE(::testing::Message() << c << " " << active << " of " << capacity);
        TestPools pools({capacity, active});
        OpRun run(c, pools, KernelBackend::kFast);
        for (int step = 0; step < kSteps; ++step) run.Compute();
        if (expected.empty()) expected = run.Outputs();
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_TRUE(SameBits(expected[i], run.Outputs()[i]));
      }
    }
  }
}

TEST_P(FastKernel, GivesTheSameBitsWhileThePoolIsResized) {
  TestPools pools({8, 1});
  constexpr int kSteps = 5;
  std::vector<std::vector<Tensor>> expected;
  for (const OpCase& c : CasesOf(GetParam())) {
    OpRun run(c, pools, KernelBackend::kFast);
    for (int step = 0; step < kSteps; ++step) run.Compute();
    expected.push_back(run.Outputs());
  }
  std::atomic<bool> stop = false;
  std::thread resizer([&] {
    Random random(25);
    while (!stop) {
      pools.SetActive(1 + static_cast<int>(random.Below(8)));
      std::this_thread::sleep_for(std::chrono::microseconds(random.Below(50)));
    }
  });
  for (size_t i = 0; i < expected.size(); ++i) {
    const OpCase c = CasesOf(GetParam())[i];
    OpRun resized(c, pools, KernelBackend::kFast);
    for (int step = 0; step < kSteps; ++step) resized.Compute();
    for (size_t output = 0; output < expected[i].size(); ++output)
      EXPECT_TRUE(SameBits(expected[i][output], resized.Outputs()[output])) << c;
  }
  stop = true;
  resizer.join();
}

// The ops of the table in engine/graph/ops.md, without those that the session executes and those
// of the optimiser (_…), whose kernels need its constants: tests/engine/session/fused_test.cc.
std::set<std::string> OpsInTheManual() {
  std::set<std::string> ops;
  std::ifstream manual(InSource("engine/graph/ops.md"));
  for (std::string line; std::getline(manual, line);) {
    if (!line.starts_with("| ") || line.starts_with("| op ")) continue;
    std::istringstream names(line.substr(2, line.find(" |", 2) - 2));
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
      if (!name.starts_with("_")) ops.insert(name);
    }
  }
  for (const char* op : {"Placeholder", "Const", "VariableV2", "Reshape", "NoOp"}) ops.erase(op);
  return ops;
}

TEST(KernelTable, HasEveryOpOfTheManual) {
  const std::set<std::string> ops = OpsInTheManual();
  EXPECT_GE(ops.size(), 39u);
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
