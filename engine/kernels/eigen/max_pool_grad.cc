// MaxPoolGrad from x, y and dy: the first cell of each window that equals the maximum y takes the
// gradient. (oneDNN's needs a workspace that TF's MaxPool does not give; running its forward pass
// again is slower than this, most of all with few channels.) One task is some images, since windows
// of one image may overlap.

#include <cstring>
#include <experimental/simd>

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/window.h"

namespace cosched::eigen {
namespace {

// One image of each tensor.
struct Planes {
  const float *x, *y, *dy;
  float* dx;
};

// One window at `output` (the offset of its first channel in y), channels [c, c + kLanes).
template <int kLanes>
void Scatter(const Window& w, const Patch& patch, const Planes& planes, int64_t output, int64_t c) {
  using Vector = std::experimental::fixed_size_simd<float, kLanes>;
  constexpr auto kAnywhere = std::experimental::element_aligned;
  const Vector maximum(planes.y + output + c, kAnywhere);
  Vector open(planes.dy + output + c, kAnywhere);  // Zero once the maximum has been found.
  for (int64_t row = patch.top; row < patch.bottom; ++row) {
    for (int64_t column = patch.left; column < patch.right; ++column) {
      const int64_t cell = (row * w.width + column) * w.channels + c;
      const auto found = Vector(planes.x + cell, kAnywhere) == maximum;
      Vector dx(planes.dx + cell, kAnywhere);
      where(found, dx) += open;
      where(found, open) = 0.0f;
      dx.copy_to(planes.dx + cell, kAnywhere);
    }
  }
}

// Channels from c on, in the widest vectors that fit, then halves.
template <int kLanes>
void ScatterFrom(const Window& w, const Patch& patch, const Planes& planes, int64_t output,
                 int64_t c) {
  for (; c + kLanes <= w.channels; c += kLanes) Scatter<kLanes>(w, patch, planes, output, c);
  if constexpr (kLanes > 1) ScatterFrom<kLanes / 2>(w, patch, planes, output, c);
}

void ScatterImage(const Window& w, const Planes& planes) {
  const int64_t row = w.width * w.channels;
  int64_t cleared =
      0;  // Rows of dx: each is cleared just before its first window, while that is in the cache.
  const auto clear_to = [&](int64_t end) {
    if (end <= cleared) return;
    std::memset(planes.dx + cleared * row, 0,
                static_cast<size_t>((end - cleared) * row) * sizeof(float));
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
  return KernelFrom([=](KernelContext& context) {
    blocks.ForEach(context.pools, [&](int, int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        ScatterImage(w, {In(context, 0) + n * image, In(context, 1) + n * output,
                         In(context, 2) + n * output, Out(context, 0) + n * image});
    });
  });
}

}  // namespace cosched::eigen
