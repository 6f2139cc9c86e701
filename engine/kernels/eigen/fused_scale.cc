// _FusedScale: a batch norm in inference that follows no convolution (DenseNet's), with the
// activation after it, in one pass. On wide rows, as columns.cc.

#include <algorithm>
#include <type_traits>

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/activation.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/parameters.h"

namespace cosched::eigen {
namespace {

constexpr int64_t kWide = 256;  // Floats that are worked on at a time, at least: whole rows.

}  // namespace

std::unique_ptr<Kernel> MakeFusedScale(const KernelSpec& spec) {
  const Matrix matrix = AsMatrix(spec.inputs[0].shape);
  const int64_t channels = matrix.channels, elements = matrix.rows * channels;
  const int64_t width = (kWide + channels - 1) / channels * channels;
  const Blocks blocks = Blocks::Of((elements + width - 1) / width, width);
  return ForImages(spec.inputs[0], [&](auto element) {
    using T = decltype(element);
    return KernelFrom([=, activation = ReadActivation(spec.node), factor = Eigen::ArrayXf(width),
                       offset = Eigen::ArrayXf(width),
                       floats = std::vector<Eigen::ArrayXf>(
                           std::is_same_v<T, float> ? 0 : static_cast<size_t>(blocks.Number()),
                           Eigen::ArrayXf(width))](KernelContext& context) mutable {
      for (int64_t c = 0; c < width; c += channels) {
        factor.segment(c, channels) = ConstArray(In(context, 1), channels);
        offset.segment(c, channels) = ConstArray(In(context, 2), channels);
      }
      const T* x = In<T>(context, 0);
      T* y = Out<T>(context, 0);
      blocks.ForEach(context.pools, [&](int block, int64_t begin, int64_t end) {
        for (int64_t at = begin * width; at < std::min(end * width, elements); at += width) {
          const int64_t length = std::min(width, elements - at);
          const auto scaled = Load(x + at, length) * factor.head(length) + offset.head(length);
          if constexpr (std::is_same_v<T, float>) {
            Array here(y + at, length);
            here = scaled;
            Activate(activation, here);
          } else {
            Array here(floats[static_cast<size_t>(block)].data(), length);
            here = scaled;
            Activate(activation, here);
            Store(here, y + at);
          }
        }
      });
    });
  });
}

}  // namespace cosched::eigen
