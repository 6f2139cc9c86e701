// AddN, and the ops that update variables. Blocks stay in the first-level cache between the
// expressions on them, so each tensor crosses memory once however many terms or steps an op has.
// (oneDNN's sum is plain C++, not generated code.)

#include <type_traits>

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kChunk = 2048;  // Floats: four chunks fit the first-level cache.

// Calls body(begin, length) over chunks of [0, elements), in parallel blocks.
template <typename Body>
void ForEachChunk(ThreadPools& pools, int64_t elements, Body body) {
  Blocks::Of(elements, 1).ForEach(pools, [&](int, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kChunk) body(at, std::min(kChunk, end - at));
  });
}

template <typename T>
void AddTerms(const KernelContext& context, int64_t at, Array sum) {
  const auto term = [&](size_t i) { return Load(In<T>(context, i) + at, sum.size()); };
  if (context.inputs.size() == 1) {
    sum = term(0);
    return;
  }
  sum = term(0) + term(1);
  for (size_t i = 2; i < context.inputs.size(); ++i) sum += term(i);
}

}  // namespace

std::unique_ptr<Kernel> MakeAddN(const KernelSpec& spec) {
  const int64_t elements = spec.inputs[0].shape.Elements();
  return ForImages(spec.inputs[0], [elements](auto element) {
    using T = decltype(element);
    return KernelFrom([elements](KernelContext& context) {
      ForEachChunk(context.pools, elements, [&](int64_t at, int64_t length) {
        T* to = Out<T>(context, 0) + at;
        if constexpr (std::is_same_v<T, float>) {
          AddTerms<T>(context, at, Array(to, length));
        } else {  // Rounded once.
          Eigen::Array<float, Eigen::Dynamic, 1, 0, kChunk> sum(length);
          AddTerms<T>(context, at, Array(sum.data(), length));
          Store(sum, to);
        }
      });
    });
  });
}

std::unique_ptr<Kernel> MakeApplyMomentum(const KernelSpec& spec) {
  const int64_t elements = spec.inputs[0].shape.Elements();
  return KernelFrom([elements, p = ReadMomentum(spec.node)](KernelContext& context) {
    Tensor accumulator = *context.inputs[1];  // Shares the variable's buffer.
    const float* gradient = In(context, 2);
    ForEachChunk(context.pools, elements, [&](int64_t at, int64_t length) {
      const ConstArray before(In(context, 0) + at, length), g(gradient + at, length);
      Array a(accumulator.Floats() + at, length), after(Out(context, 0) + at, length);
      a = p.momentum * a + (g + p.weight_decay * before);
      after = before - p.learning_rate * a;
    });
  });
}

}  // namespace cosched::eigen
