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
  int64_t rows = 0, columns = 0;  // The window's size: filter [R,S,C/groups,K] or ksize.
  int64_t out_height = 0, out_width = 0, out_channels = 0;  // Output [N,P,Q,K]; pooling: K = C.
  int64_t stride_height = 1, stride_width = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t dilation_height = 1, dilation_width = 1;  // Between cells of the window; pooling: 1.
  int64_t groups = 1;          // Channel groups, each convolved by itself: C of them = depthwise.
  bool count_padding = false;  // Whether a mean counts padding as zeros.

  friend bool operator==(const Window&, const Window&) = default;
  int64_t ImageElements() const { return batch * height * width * channels; }
  int64_t OutputElements() const { return batch * out_height * out_width * out_channels; }
  int64_t FilterElements() const { return rows * columns * channels / groups * out_channels; }
  // How many rows of the image a window reaches over.
  int64_t Height() const { return (rows - 1) * dilation_height + 1; }
  bool IsDepthwise() const { return groups > 1 && groups == channels; }
};

// From the node's "strides", "padding", "explicit_paddings" and "dilations". Filter is HWIO.
// REQUIRES: shapes that Graph::Build() has accepted.
Window ConvolutionWindow(const Node& node, const Shape& image, const Shape& filter);
// From the node's "ksize", "strides", "padding", "explicit_paddings" and "count_padding".
Window PoolingWindow(const Node& node, const Shape& image);

// Pooling's part of the window at output (p, q) that lies on the image, rows [top, bottom),
// columns [left, right) of the image.
struct Patch {
  int64_t top, bottom, left, right;
};
inline Patch PatchAt(const Window& w, int64_t p, int64_t q) {
  const int64_t y = p * w.stride_height - w.pad_top, x = q * w.stride_width - w.pad_left;
  return {std::max<int64_t>(y, 0), std::min(y + w.rows, w.height), std::max<int64_t>(x, 0),
          std::min(x + w.columns, w.width)};
}

}  // namespace cosched
