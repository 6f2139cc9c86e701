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
  const int64_t channels = w.channels / w.groups, out_channels = w.out_channels / w.groups;
  for (int64_t n = 0; n < w.batch; ++n)
    for (int64_t p = 0; p < w.out_height; ++p)
      for (int64_t q = 0; q < w.out_width; ++q) {
        const int64_t output = ((n * w.out_height + p) * w.out_width + q) * w.out_channels;
        for (int64_t r = 0; r < w.rows; ++r)
          for (int64_t s = 0; s < w.columns; ++s) {
            const int64_t y = p * w.stride_height - w.pad_top + r * w.dilation_height;
            const int64_t x = q * w.stride_width - w.pad_left + s * w.dilation_width;
            if (y < 0 || y >= w.height || x < 0 || x >= w.width) continue;
            const int64_t image = ((n * w.height + y) * w.width + x) * w.channels;
            const int64_t filter = (r * w.columns + s) * channels * w.out_channels;
            for (int64_t g = 0; g < w.groups; ++g)
              for (int64_t c = 0; c < channels; ++c)
                for (int64_t k = g * out_channels; k < (g + 1) * out_channels; ++k)
                  body(image + g * channels + c, filter + c * w.out_channels + k, output + k);
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
  std::fill_n(dfilter, w.FilterElements(), Scalar{0});
  ForEachProduct(w, [&](int64_t i, int64_t f, int64_t o) { dfilter[f] += dy[o] * image[i]; });
}

}  // namespace cosched::reference
