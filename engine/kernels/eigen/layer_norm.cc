// _FusedLayerNorm. Rows are short (a pixel's channels) and many: each is read from the first-level
// cache for its mean, its variance and its result. Sums are taken in lanes, in one order wherever a
// row lies, which Eigen's own reductions would not (they begin where memory is aligned).

#include <cmath>

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kLanes = 16;
using Lanes = Eigen::Array<float, kLanes, 1>;

template <typename T>
Lanes LoadLanes(const T* from) {
  return Eigen::Map<const Eigen::Array<T, kLanes, 1>>(from).template cast<float>();
}

// The sum of value(x), by lanes and then over them; value() takes lanes or a number.
template <typename T, typename Value>
float SumOf(const T* x, int64_t channels, Value value) {
  Lanes sum = Lanes::Zero();
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) sum += value(LoadLanes(x + c));
  float total = sum.sum();
  for (; c < channels; ++c) total += value(static_cast<float>(x[c]));
  return total;
}

template <typename T>
void NormaliseRow(const T* x, int64_t channels, float epsilon, const float* scale,
                  const float* offset, T* y) {
  const auto count = static_cast<float>(channels);
  const float mean = SumOf(x, channels, [](const auto& v) { return v; }) / count;
  const float variance =
      SumOf(x, channels, [mean](const auto& v) { return ((v - mean) * (v - mean)); }) / count;
  const float factor = 1 / std::sqrt(variance + epsilon);
  Store((Load(x, channels) - mean) * factor * ConstArray(scale, channels) +
            ConstArray(offset, channels),
        y);
}

}  // namespace

std::unique_ptr<Kernel> MakeFusedLayerNorm(const KernelSpec& spec) {
  const LayerNormParameters p = ReadLayerNorm(spec.node, spec.inputs[0].shape);
  const int64_t channels = p.matrix.channels;
  const Blocks blocks = Blocks::Of(p.matrix.rows, channels);
  return ForImages(spec.inputs[0], [&](auto element) {
    using T = decltype(element);
    return KernelFrom([=](KernelContext& context) {
      blocks.ForEach(context.pools, [&](int, int64_t begin, int64_t end) {
        for (int64_t at = begin * channels; at < end * channels; at += channels)
          NormaliseRow(In<T>(context, 0) + at, channels, p.epsilon, In(context, 1), In(context, 2),
                       Out<T>(context, 0) + at);
      });
    });
  });
}

}  // namespace cosched::eigen
