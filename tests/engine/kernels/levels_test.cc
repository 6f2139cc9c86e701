// Kernels that are compiled for several levels of x86-64: each level gives what the naive loops
// give, and the best one that this CPU has is used. avx2.* and sse41.* run all other tests of this
// folder with lower levels.

#include "engine/kernels/eigen/levels.h"

#include <new>

#include "tests/engine/kernels/op_cases.h"

namespace cosched::testing {
namespace {

using eigen::KernelLevel;

struct LevelledOp {
  const char* op;
  KernelFactory* KernelLevel::*factory;
};
constexpr LevelledOp kOps[] = {
    {"AddN", &KernelLevel::MakeAddN},
    {"AddV2", &KernelLevel::MakeAddV2},
    {"ApplyMomentum", &KernelLevel::MakeApplyMomentum},
    {"BiasAdd", &KernelLevel::MakeBiasAdd},
    {"BiasAddGrad", &KernelLevel::MakeBiasAddGrad},
    {"Erf", &KernelLevel::MakeErf},
    {"ErfGrad", &KernelLevel::MakeErfGrad},
    {"FusedBatchNormGradV3", &KernelLevel::MakeBatchNormGradChunks},
    {"FusedBatchNormV3", &KernelLevel::MakeBatchNormChunks},
    {"LRN", &KernelLevel::MakeLocalResponse},
    {"LRNGrad", &KernelLevel::MakeLocalResponseGrad},
    {"MaxPoolGrad", &KernelLevel::MakeMaxPoolGrad},
    {"Mean", &KernelLevel::MakeMean},
    {"MeanGrad", &KernelLevel::MakeMeanGrad},
    {"Mul", &KernelLevel::MakeMul},
    {"RealDiv", &KernelLevel::MakeRealDiv},
    {"Softmax", &KernelLevel::MakeSoftmax},
    {"SparseSoftmaxCrossEntropyWithLogits", &KernelLevel::MakeSparseSoftmaxCrossEntropy},
    {"Sqrt", &KernelLevel::MakeSqrt},
    {"Sub", &KernelLevel::MakeSub},
};

class KernelOfEachLevel : public ::testing::TestWithParam<LevelledOp> {};
INSTANTIATE_TEST_SUITE_P(EveryOp, KernelOfEachLevel, ::testing::ValuesIn(kOps),
                         [](const auto& info) { return info.param.op; });

// Statistics in inference are oneDNN's.
bool IsInference(const OpCase& c) {
  const auto training = c.attributes.find("is_training");
  return training != c.attributes.end() && !std::get<bool>(training->second);
}

TEST_P(KernelOfEachLevel, AgreesWithNaiveLoops) {
  for (const OpCase& c : CasesOf(GetParam().op)) {
    if (IsInference(c)) continue;
    TestPools pools({2, 2});
    OpRun expected(c, pools, KernelBackend::kReference);
    expected.Compute();
    for (const KernelLevel* level : eigen::LevelsHere()) {
      SCOPED_TRACE(::testing::Message() << c << ", " << level->name);
      OpRun actual(c, pools, kPieceTime, level->*GetParam().factory);
      actual.Compute();
      ExpectAllClose(expected, actual);
    }
  }
}

TEST(KernelLevels, AreLimitedAsOneDnnsInstructions) {
  const auto levels = eigen::LevelsHere();
  if (levels[0]->name != std::string("x86-64-v2")) GTEST_SKIP() << "compiled for one level only";
  EXPECT_EQ(levels.size(), CpuLanes() == 16 ? 3U : CpuHasAvx2() ? 2U : 1U);
}

TEST(KernelLevels, AreTold) {
  EXPECT_TRUE(
      KernelTarget().ends_with(std::string("Eigen for ") + eigen::LevelsHere().back()->name))
      << KernelTarget();
}

// As CreateKernel catches what a library throws.
TEST(KernelLevels, WhatTheyThrowIsCaughtOutside) {
  constexpr int64_t kTooMany = int64_t{1} << 62;
  TestPools pools({1, 1});
  Node node;
  node.outputs = {{Shape{1, kTooMany}}};
  const KernelSpec spec{node, {{Shape{1, kTooMany}}, {Shape{kTooMany}}}, pools};
  for (const KernelLevel* level : eigen::LevelsHere()) {
    SCOPED_TRACE(level->name);
    EXPECT_THROW(level->MakeBiasAdd(spec), std::bad_alloc);
  }
}

}  // namespace
}  // namespace cosched::testing
