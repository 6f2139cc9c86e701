// Sqrt, Erf and ErfGrad: functions of each element. (oneDNN has the error function only within
// GELU.)

#include <numbers>
#include <unsupported/Eigen/SpecialFunctions>

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kCost = 8;  // A function's value, in plain element operations.

// function(arrays…) of equal parts of all inputs.
template <size_t kInputs, typename Function>
std::unique_ptr<Kernel> OfElements(const KernelSpec& spec, Function function) {
  const int64_t elements = spec.inputs[0].shape.Elements();
  return ForImages(spec.inputs[0], [&](auto element) {
    using T = decltype(element);
    return KernelFrom([=](KernelContext& context) {
      Blocks::Of(elements, kCost).ForEach(context.pools, [&](int, int64_t begin, int64_t end) {
        const auto in = [&](size_t i) { return Load(In<T>(context, i) + begin, end - begin); };
        T* to = Out<T>(context, 0) + begin;
        if constexpr (kInputs == 1) {
          Store(function(in(0)), to);
        } else {
          Store(function(in(0), in(1)), to);
        }
      });
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> MakeSqrt(const KernelSpec& spec) {
  return OfElements<1>(spec, [](const auto& x) { return x.sqrt(); });
}
std::unique_ptr<Kernel> MakeErf(const KernelSpec& spec) {
  return OfElements<1>(spec, [](const auto& x) { return x.erf(); });
}
std::unique_ptr<Kernel> MakeErfGrad(const KernelSpec& spec) {
  return OfElements<2>(spec, [](const auto& dy, const auto& x) {
    return dy * (2 * std::numbers::inv_sqrtpi_v<float>)*(-x * x).exp();
  });
}

}  // namespace cosched::eigen
