#pragma once
// Convolution and its two gradients as loops over the definition. Scalar is float
// (KernelBackend::kReference) or double (finite differences in tests). Images NHWC, filters HWIO.

#include <algorithm>

#include "engine/kernels/window.h"

namespace cosched::reference {

// Calls body(image_offset, filter_offset, output_offset) for every product of a convolution:
// y[output] += x[image] * f[filter]. All three functions below are this one sum, solved for another
// operand.
template <typename Body>
void ForEachProduct(const Window& w, Body body) {
  for (int64_t n = 0; n < w.batch; ++n)
    for (int64_t p = 0; p < w.out_height; ++p)
      for (int64_t q = 0; q < w.out_width; ++q) {
        const Patch patch = PatchAt(w, p, q);
        for (int64_t y = patch.top; y < patch.bottom; ++y)
          for (int64_t x = patch.left; x < patch.right; ++x) {
            const int64_t r = patch.first_row + y - patch.top;
            const int64_t s = patch.first_column + x - patch.left;
            for (int64_t c = 0; c < w.channels; ++c)
              for (int64_t k = 0; k < w.out_channels; ++k)
                body(((n * w.height + y) * w.width + x) * w.channels + c,
                     ((r * w.columns + s) * w.channels + c) * w.out_channels + k,
                     ((n * w.out_height + p) * w.out_width + q) * w.out_channels + k);
          }
      }
}

template <typename Scalar>
void Conv2D(const Window& w, const Scalar* image, const Scalar* filter, Scalar* y) {
  std::fill_n(y, w.OutputElements(), Scalar{0});
  ForEachProduct(w, [&](int64_t i, int64_t f, int64_t o) { y[o] += image[i] * filter[f]; });
}

template <typename Scalar>
void Conv2DBackpropInput(const Window& w, const Scalar* filter, const Scalar* dy, Scalar* dx) {
  std::fill_n(dx, w.ImageElements(), Scalar{0});
  ForEachProduct(w, [&](int64_t i, int64_t f, int64_t o) { dx[i] += dy[o] * filter[f]; });
}

template <typename Scalar>
void Conv2DBackpropFilter(const Window& w, const Scalar* image, const Scalar* dy, Scalar* dfilter) {
  std::fill_n(dfilter, w.rows * w.columns * w.channels * w.out_channels, Scalar{0});
  ForEachProduct(w, [&](int64_t i, int64_t f, int64_t o) { dfilter[f] += dy[o] * image[i]; });
}

}  // namespace cosched::reference
