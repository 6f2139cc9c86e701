// MaxPoolGrad from x, y and dy: the first cell of each window that equals the maximum y takes the
// gradient. (oneDNN's needs a workspace that TF's MaxPool does not give; running its forward pass
// again is slower than this, most of all with few channels.) One task is some images, since windows
// of one image may overlap.

#include <experimental/simd>

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/window.h"

namespace cosched::eigen {
namespace {

// One image of each tensor.
template <typename T>
struct Planes {
  const T *x, *y, *dy;
  T* dx;
};

template <int kLanes>
using Vector = std::experimental::fixed_size_simd<float, kLanes>;

template <int kLanes>
Vector<kLanes> LoadLanes(const float* from) {
  return Vector<kLanes>(from, std::experimental::element_aligned);
}
template <int kLanes>
void StoreLanes(const Vector<kLanes>& values, float* to) {
  values.copy_to(to, std::experimental::element_aligned);
}
template <int kLanes>
Vector<kLanes> LoadLanes(const Eigen::bfloat16* from) {
  const Eigen::Array<float, kLanes, 1> values =
      Eigen::Map<const Eigen::Array<Eigen::bfloat16, kLanes, 1>>(from).template cast<float>();
  return LoadLanes<kLanes>(values.data());
}
template <int kLanes>
void StoreLanes(const Vector<kLanes>& values, Eigen::bfloat16* to) {
  Eigen::Array<float, kLanes, 1> floats;
  StoreLanes<kLanes>(values, floats.data());
  Eigen::Map<Eigen::Array<Eigen::bfloat16, kLanes, 1>>{to} =
      floats.template cast<Eigen::bfloat16>();
}

// One window at `output` (the offset of its first channel in y), channels [c, c + kLanes).
template <int kLanes, typename T>
void Scatter(const Window& w, const Patch& patch, const Planes<T>& planes, int64_t output,
             int64_t c) {
  const Vector<kLanes> maximum = LoadLanes<kLanes>(planes.y + output + c);
  // Zero once the maximum has been found.
  Vector<kLanes> open = LoadLanes<kLanes>(planes.dy + output + c);
  for (int64_t row = patch.top; row < patch.bottom; ++row) {
    for (int64_t column = patch.left; column < patch.right; ++column) {
      const int64_t cell = (row * w.width + column) * w.channels + c;
      const auto found = LoadLanes<kLanes>(planes.x + cell) == maximum;
      Vector<kLanes> dx = LoadLanes<kLanes>(planes.dx + cell);
      where(found, dx) += open;
      where(found, open) = 0.0f;
      StoreLanes<kLanes>(dx, planes.dx + cell);
    }
  }
}

// Channels from c on, in the widest vectors that fit, then halves.
template <int kLanes, typename T>
void ScatterFrom(const Window& w, const Patch& patch, const Planes<T>& planes, int64_t output,
                 int64_t c) {
  for (; c + kLanes <= w.channels; c += kLanes) Scatter<kLanes>(w, patch, planes, output, c);
  if constexpr (kLanes > 1) ScatterFrom<kLanes / 2>(w, patch, planes, output, c);
}

template <typename T>
void ScatterImage(const Window& w, const Planes<T>& planes) {
  const int64_t row = w.width * w.channels;
  int64_t cleared =
      0;  // Rows of dx: each is cleared just before its first window, while that is in the cache.
  const auto clear_to = [&](int64_t end) {
    if (end <= cleared) return;
    std::fill_n(planes.dx + cleared * row, (end - cleared) * row, T(0));
    cleared = end;
  };
  for (int64_t p = 0; p < w.out_height; ++p) {
    clear_to(PatchAt(w, p, 0).bottom);
    for (int64_t q = 0; q < w.out_width; ++q)
      ScatterFrom<32>(w, PatchAt(w, p, q), planes, (p * w.out_width + q) * w.channels, 0);
  }
  clear_to(w.height);
}

}  // namespace

std::unique_ptr<Kernel> MakeMaxPoolGrad(const KernelSpec& spec) {
  const Window w = PoolingWindow(spec.node, spec.inputs[0].shape);
  const int64_t image = w.height * w.width * w.channels;
  const int64_t output = w.out_height * w.out_width * w.channels;
  const Blocks blocks = Blocks::Of(w.batch, output * w.rows * w.columns);
  return ForImages(spec.inputs[0], [&](auto element) {
    using T = decltype(element);
    return KernelFrom([=](KernelContext& context) {
      blocks.ForEach(context.pools, [&](int, int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n)
          ScatterImage<T>(w, {In<T>(context, 0) + n * image, In<T>(context, 1) + n * output,
                              In<T>(context, 2) + n * output, Out<T>(context, 0) + n * image});
      });
    });
  });
}

}  // namespace cosched::eigen
