// The folder's functions where there are several levels: each calls the best level's.

#include <cpuid.h>

#include "engine/kernels/eigen/levels.h"

namespace cosched::eigen {

// Defined by level.cc.
extern const KernelLevel kLevel2, kLevel3, kLevel4;

namespace {

// __builtin_cpu_supports also asks whether the operating system saves the registers.
bool CpuHasLevel3() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0, extended = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  const bool others = (ecx & bit_F16C) != 0 && (ecx & bit_MOVBE) != 0;
  if (__get_cpuid(0x80000001, &eax, &ebx, &extended, &edx) == 0) return false;
  return others && (extended & bit_LZCNT) != 0 && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}

bool CpuHasLevel4() {
  return CpuHasLevel3() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

const KernelLevel& Best() {
  static const KernelLevel& best = *LevelsHere().back();
  return best;
}

}  // namespace

std::vector<const KernelLevel*> LevelsHere() {
  std::vector<const KernelLevel*> levels = {&kLevel2};
  if (CpuHasAvx2() && CpuHasLevel3()) levels.push_back(&kLevel3);
  if (CpuLanes() == 16 && CpuHasLevel4()) levels.push_back(&kLevel4);
  return levels;
}

#define COSCHED_FORWARD(factory) \
  std::unique_ptr<Kernel> factory(const KernelSpec& spec) { return Best().factory(spec); }
COSCHED_FACTORIES_OF_A_LEVEL(COSCHED_FORWARD)
#undef COSCHED_FORWARD

void TransformImages(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                     const float* images, float* result, int64_t stride) {
  Best().TransformImages(w, tiles, begin, end, images, result, stride);
}
void TransformFilter(int size, const WinogradFilter& shape, int64_t begin, int64_t end,
                     const float* filter, float* result) {
  Best().TransformFilter(size, shape, begin, end, filter, result);
}
void TransformGradients(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                        const float* gradients, float* result, int64_t stride) {
  Best().TransformGradients(w, tiles, begin, end, gradients, result, stride);
}
void TransformFilterGradient(int size, const WinogradFilter& shape, int64_t begin, int64_t end,
                             const float* products, float* result) {
  Best().TransformFilterGradient(size, shape, begin, end, products, result);
}
void TransformProducts(const Window& w, const WinogradTiles& tiles, int64_t begin, int64_t end,
                       const float* products, int64_t stride, const WinogradOutput& output) {
  Best().TransformProducts(w, tiles, begin, end, products, stride, output);
}
float MemorySum(const float* values, int64_t count) { return Best().MemorySum(values, count); }

}  // namespace cosched::eigen
