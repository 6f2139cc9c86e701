#pragma once
// The kernels of this folder are compiled once for each level of x86-64 (v2: SSE4.2, v3: AVX2 and
// FMA, v4: AVX-512), so that one binary is fast on every machine of a mixed cluster. The folder's
// functions (factories.h, winograd_transforms.h, memory_sum.h) are those of the best level here:
// whoever calls them knows of none. Where levels.cmake compiles them once only, that is the one
// level. Called by KernelTarget and by tests. Thread-safe.

#include <vector>

#include "engine/kernels/eigen/memory_sum.h"
#include "engine/kernels/eigen/winograd_transforms.h"
#include "engine/kernels/factories.h"

// Factories that each level has. Those of ops that only copy memory, or update a few floats, are
// compiled once.
// clang-format off
#define COSCHED_FACTORIES_OF_A_LEVEL(DO)                                                     \
  DO(MakeAddN) DO(MakeAddV2) DO(MakeSub) DO(MakeMul) DO(MakeRealDiv)                         \
  DO(MakeBiasAdd) DO(MakeBiasAddGrad) DO(MakeBatchNormChunks) DO(MakeBatchNormGradChunks)    \
  DO(MakeMaxPoolGrad) DO(MakeLocalResponse) DO(MakeLocalResponseGrad)                        \
  DO(MakeMean) DO(MakeMeanGrad) DO(MakeSoftmax) DO(MakeSparseSoftmaxCrossEntropy)            \
  DO(MakeApplyMomentum) DO(MakeSqrt) DO(MakeErf) DO(MakeErfGrad)                             \
  DO(MakeFusedScale) DO(MakeFusedLayerNorm) DO(MakeFusedVectorProduct)
// clang-format on

namespace cosched::eigen {

// A level's functions, each under the name that it has for all others.
struct KernelLevel {
  const char* name;  // "x86-64-v3".
#define COSCHED_MEMBER(factory) KernelFactory* factory;
  COSCHED_FACTORIES_OF_A_LEVEL(COSCHED_MEMBER)
#undef COSCHED_MEMBER
  decltype(eigen::TransformImages)* TransformImages;
  decltype(eigen::TransformFilter)* TransformFilter;
  decltype(eigen::TransformGradients)* TransformGradients;
  decltype(eigen::TransformFilterGradient)* TransformFilterGradient;
  decltype(eigen::TransformProducts)* TransformProducts;
  decltype(eigen::MemorySum)* MemorySum;
};

// Those that this CPU and its operating system have, and that ONEDNN_MAX_CPU_ISA allows, as it does
// to oneDNN; the last one is used. Not empty.
std::vector<const KernelLevel*> LevelsHere();

}  // namespace cosched::eigen
