// MaxPoolGrad from x, y and dy: the first cell of each window that equals the maximum y takes the
// gradient. One task an image, since windows of one image may overlap.

#include <cstring>

#include "engine/kernels/blocks.h"
#include "engine/kernels/eigen/views.h"
#include "engine/kernels/factories.h"
#include "engine/kernels/window.h"

namespace cosched::eigen {
namespace {

// Channels that are looked at together: their open gradients stay in registers or the first-level
// cache.
constexpr int64_t kLanes = 64;

struct Planes {
  const float *x, *y, *dy;
  float* dx;
};

// One window, channels [begin, begin + lanes): open[c] is the gradient that has not found its
// maximum yet.
void ScatterWindow(const Window& w, const Patch& patch, const Planes& planes, int64_t output,
                   int64_t begin, int64_t lanes) {
  float open[kLanes];
  const float* maximum = planes.y + output + begin;
  std::memcpy(open, planes.dy + output + begin, static_cast<size_t>(lanes) * sizeof(float));
  for (int64_t row = patch.top; row < patch.bottom; ++row) {
    for (int64_t column = patch.left; column < patch.right; ++column) {
      const int64_t cell = (row * w.width + column) * w.channels + begin;
      const float* x = planes.x + cell;
      float* dx = planes.dx + cell;
      for (int64_t c = 0; c < lanes; ++c) {
        const bool found = x[c] == maximum[c];
        dx[c] += found ? open[c] : 0.0f;
        open[c] = found ? 0.0f : open[c];
      }
    }
  }
}

void ScatterImage(const Window& w, const Planes& planes) {
  std::memset(planes.dx, 0, static_cast<size_t>(w.height * w.width * w.channels) * sizeof(float));
  for (int64_t p = 0; p < w.out_height; ++p) {
    for (int64_t q = 0; q < w.out_width; ++q) {
      const Patch patch = PatchAt(w, p, q);
      const int64_t output = (p * w.out_width + q) * w.channels;
      for (int64_t c = 0; c < w.channels; c += kLanes)
        ScatterWindow(w, patch, planes, output, c, std::min(kLanes, w.channels - c));
    }
  }
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
