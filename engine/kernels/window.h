#pragma once
// Geometry of a convolution or a pooling: where the window lies on the image. Both backends and the
// tests read it, so that TF's "SAME" padding (which puts the odd row or column at the end) is
// worked out in one place. Plain data.

#include <algorithm>
#include <cstdint>

#include "engine/graph/node.h"

namespace cosched {

struct Window {
  int64_t batch = 0, height = 0, width = 0, channels = 0;  // Image [N,H,W,C].
  int64_t rows = 0, columns = 0;  // Of the window: filter [R,S,C,K] or ksize.
  int64_t out_height = 0, out_width = 0, out_channels = 0;  // Output [N,P,Q,K]; pooling: K = C.
  int64_t stride_height = 1, stride_width = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  friend bool operator==(const Window&, const Window&) = default;
  int64_t ImageElements() const { return batch * height * width * channels; }
  int64_t OutputElements() const { return batch * out_height * out_width * out_channels; }
};

// From the node's "strides" and "padding". Filter is HWIO. REQUIRES: shapes that Graph::Build() has
// accepted.
Window ConvolutionWindow(const Node& node, const Shape& image, const Shape& filter);
// From the node's "ksize", "strides" and "padding".
Window PoolingWindow(const Node& node, const Shape& image);

// The part of the window at output (p, q) that lies on the image: rows [top, bottom), columns
// [left, right) of the image.
struct Patch {
  int64_t top, bottom, left, right;
  int64_t first_row, first_column;  // Of the window, at (top, left).
};
inline Patch PatchAt(const Window& w, int64_t p, int64_t q) {
  const int64_t y = p * w.stride_height - w.pad_top, x = q * w.stride_width - w.pad_left;
  const int64_t top = std::max<int64_t>(y, 0), left = std::max<int64_t>(x, 0);
  return {top,     std::min(y + w.rows, w.height), left, std::min(x + w.columns, w.width), top - y,
          left - x};
}

}  // namespace cosched
