#pragma once
// The definitions of ONNX's window ops as loops over [N,C,H,W], the oracle of the reader's tests.

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/engine/graph/readers/read_and_run.h"

namespace cosched {

// By height, then width; pads as ONNX has them: {top, left, bottom, right}.
struct NaiveWindow {
  std::vector<int64_t> kernel = {1, 1};
  std::vector<int64_t> strides = {1, 1};
  std::vector<int64_t> dilations = {1, 1};
  std::vector<int64_t> pads = {0, 0, 0, 0};
  std::vector<int64_t> output_padding = {0, 0};
  int64_t groups = 1;
};

inline float& At(Array& a, int64_t n, int64_t c, int64_t h, int64_t w) {
  return a.values[static_cast<size_t>(((n * a.dims[1] + c) * a.dims[2] + h) * a.dims[3] + w)];
}

inline Array Zeros(std::vector<int64_t> dims) {
  size_t elements = 1;
  for (const int64_t size : dims) elements *= static_cast<size_t>(size);
  return {std::move(dims), std::vector<float>(elements, 0.0f)};
}

inline int64_t Reach(const NaiveWindow& w, size_t d) {
  return (w.kernel[d] - 1) * w.dilations[d] + 1;
}

// Calls visit(n, k, c, p, q, r, s, h, w) for every product of a convolution of `image` whose filter
// is [K,C/groups,R,S]; h and w may lie in the padding.
template <typename Visit>
void ForEachProduct(const Array& image, const std::vector<int64_t>& filter, const Array& out,
                    const NaiveWindow& window, Visit visit) {
  const int64_t per_group = filter[0] / window.groups;
  for (int64_t n = 0; n < out.dims[0]; ++n)
    for (int64_t k = 0; k < filter[0]; ++k)
      for (int64_t c = 0; c < filter[1]; ++c)
        for (int64_t p = 0; p < out.dims[2]; ++p)
          for (int64_t q = 0; q < out.dims[3]; ++q)
            for (int64_t r = 0; r < filter[2]; ++r)
              for (int64_t s = 0; s < filter[3]; ++s) {
                const int64_t h = p * window.strides[0] + r * window.dilations[0] - window.pads[0];
                const int64_t w = q * window.strides[1] + s * window.dilations[1] - window.pads[1];
                if (h < 0 || w < 0 || h >= image.dims[2] || w >= image.dims[3]) continue;
                visit(n, k, k / per_group * filter[1] + c, c, p, q, r, s, h, w);
              }
}

inline Array NaiveConv(Array image, Array filter, NaiveWindow window) {
  window.kernel = {filter.dims[2], filter.dims[3]};
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t all = image.dims[2 + d] + window.pads[d] + window.pads[2 + d];
    sizes.push_back((all - Reach(window, d)) / window.strides[d] + 1);
  }
  Array out = Zeros({image.dims[0], filter.dims[0], sizes[0], sizes[1]});
  ForEachProduct(image, filter.dims, out, window,
                 [&](int64_t n, int64_t k, int64_t c, int64_t fc, int64_t p, int64_t q, int64_t r,
                     int64_t s, int64_t h, int64_t w) {
                   At(out, n, k, p, q) += At(image, n, c, h, w) * At(filter, k, fc, r, s);
                 });
  return out;
}

// The filter is [C,K/groups,R,S].
inline Array NaiveConvTranspose(Array image, Array filter, NaiveWindow window) {
  window.kernel = {filter.dims[2], filter.dims[3]};
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < 2; ++d) {
    sizes.push_back(window.strides[d] * (image.dims[2 + d] - 1) + window.output_padding[d] +
                    Reach(window, d) - window.pads[d] - window.pads[2 + d]);
  }
  Array out = Zeros({image.dims[0], filter.dims[1] * window.groups, sizes[0], sizes[1]});
  ForEachProduct(out, filter.dims, image, window,
                 [&](int64_t n, int64_t k, int64_t c, int64_t fc, int64_t p, int64_t q, int64_t r,
                     int64_t s, int64_t h, int64_t w) {
                   At(out, n, c, h, w) += At(image, n, k, p, q) * At(filter, k, fc, r, s);
                 });
  return out;
}

struct NaivePool {
  bool average = false;
  bool ceil_mode = false;
  bool count_include_pad = false;
};

inline Array NaivePooled(Array image, const NaiveWindow& w, NaivePool pool) {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t size = image.dims[2 + d];
    const int64_t rest = size + w.pads[d] + w.pads[2 + d] - w.kernel[d];
    int64_t count = rest / w.strides[d] + 1;
    const bool another =
        pool.ceil_mode && rest % w.strides[d] != 0 && count * w.strides[d] < size + w.pads[d];
    sizes.push_back(count + (another ? 1 : 0));
  }
  Array out = Zeros({image.dims[0], image.dims[1], sizes[0], sizes[1]});
  for (int64_t n = 0; n < out.dims[0]; ++n)
    for (int64_t c = 0; c < out.dims[1]; ++c)
      for (int64_t p = 0; p < sizes[0]; ++p)
        for (int64_t q = 0; q < sizes[1]; ++q) {
          float most = -std::numeric_limits<float>::infinity();
          float sum = 0;
          int64_t count = 0;
          for (int64_t r = 0; r < w.kernel[0]; ++r)
            for (int64_t s = 0; s < w.kernel[1]; ++s) {
              const int64_t h = p * w.strides[0] + r - w.pads[0];
              const int64_t v = q * w.strides[1] + s - w.pads[1];
              const bool inside = h >= 0 && v >= 0 && h < image.dims[2] && v < image.dims[3];
              const bool padded = h < image.dims[2] + w.pads[2] && v < image.dims[3] + w.pads[3];
              if (inside) {
                most = std::max(most, At(image, n, c, h, v));
                sum += At(image, n, c, h, v);
              }
              count += inside || (pool.count_include_pad && padded) ? 1 : 0;
            }
          At(out, n, c, p, q) = pool.average ? sum / static_cast<float>(count) : most;
        }
  return out;
}

}  // namespace cosched
