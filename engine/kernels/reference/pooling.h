#pragma once
// Pooling and its gradients as loops over the definition. Padding takes no part: a maximum or a
// mean is taken over the cells of the window that lie on the image, as in TF; unless the window
// says that a mean counts padding.

#include <algorithm>

#include "engine/kernels/window.h"

namespace cosched::reference {

// Calls body(output_offset, patch, at) for every output cell; at(y, x) is the offset of an image
// cell in its plane.
template <typename Body>
void ForEachWindow(const Window& w, Body body) {
  for (int64_t n = 0; n < w.batch; ++n)
    for (int64_t p = 0; p < w.out_height; ++p)
      for (int64_t q = 0; q < w.out_width; ++q)
        for (int64_t c = 0; c < w.channels; ++c)
          body(((n * w.out_height + p) * w.out_width + q) * w.channels + c, PatchAt(w, p, q),
               [&w, n, c](int64_t y, int64_t x) {
                 return ((n * w.height + y) * w.width + x) * w.channels + c;
               });
}

// How many cells a mean is over.
inline int64_t Cells(const Window& w, const Patch& patch) {
  if (w.count_padding) return w.rows * w.columns;
  return (patch.bottom - patch.top) * (patch.right - patch.left);
}

// Offset of the first maximum in row-major order.
template <typename Scalar, typename At>
int64_t FirstMaximum(const Patch& patch, const Scalar* image, At at) {
  int64_t best = at(patch.top, patch.left);
  for (int64_t y = patch.top; y < patch.bottom; ++y)
    for (int64_t x = patch.left; x < patch.right; ++x)
      if (image[at(y, x)] > image[best]) best = at(y, x);
  return best;
}

template <typename Scalar>
void MaxPool(const Window& w, const Scalar* image, Scalar* y) {
  ForEachWindow(w, [&](int64_t o, const Patch& patch, auto at) {
    y[o] = image[FirstMaximum(patch, image, at)];
  });
}

template <typename Scalar>
void MaxPoolGrad(const Window& w, const Scalar* image, const Scalar* dy, Scalar* dx) {
  std::fill_n(dx, w.ImageElements(), Scalar{0});
  ForEachWindow(w, [&](int64_t o, const Patch& patch, auto at) {
    dx[FirstMaximum(patch, image, at)] += dy[o];
  });
}

template <typename Scalar>
void AvgPool(const Window& w, const Scalar* image, Scalar* y) {
  ForEachWindow(w, [&](int64_t o, const Patch& patch, auto at) {
    Scalar sum{0};
    for (int64_t row = patch.top; row < patch.bottom; ++row)
      for (int64_t column = patch.left; column < patch.right; ++column)
        sum += image[at(row, column)];
    y[o] = sum / static_cast<Scalar>(Cells(w, patch));
  });
}

template <typename Scalar>
void AvgPoolGrad(const Window& w, const Scalar* dy, Scalar* dx) {
  std::fill_n(dx, w.ImageElements(), Scalar{0});
  ForEachWindow(w, [&](int64_t o, const Patch& patch, auto at) {
    for (int64_t row = patch.top; row < patch.bottom; ++row)
      for (int64_t column = patch.left; column < patch.right; ++column)
        dx[at(row, column)] += dy[o] / static_cast<Scalar>(Cells(w, patch));
  });
}

}  // namespace cosched::reference
