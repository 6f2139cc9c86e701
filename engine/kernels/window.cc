#include "engine/kernels/window.h"

#include "engine/base/check.h"

namespace cosched {
namespace {

struct Extent {
  int64_t size, pad_before, pad_after;
};

Extent Slide(int64_t input, int64_t window, int64_t stride, bool same) {
  if (!same) return {(input - window) / stride + 1, 0, 0};
  const int64_t size = (input + stride - 1) / stride;
  const int64_t pad = std::max<int64_t>((size - 1) * stride + window - input, 0);
  return {size, pad / 2, pad - pad / 2};
}

Window MakeWindow(const Node& node, const Shape& image, int64_t rows, int64_t columns,
                  int64_t out_channels) {
  CHECK(image.Rank() == 4) << node.name << ": image " << image.ToString();
  const auto& strides = GetAttribute<std::vector<int64_t>>(node, "strides");
  const bool same = GetAttribute<std::string>(node, "padding") == "SAME";
  const Extent vertical = Slide(image[1], rows, strides[0], same);
  const Extent horizontal = Slide(image[2], columns, strides[1], same);
  return {.batch = image[0],
          .height = image[1],
          .width = image[2],
          .channels = image[3],
          .rows = rows,
          .columns = columns,
          .out_height = vertical.size,
          .out_width = horizontal.size,
          .out_channels = out_channels,
          .stride_height = strides[0],
          .stride_width = strides[1],
          .pad_top = vertical.pad_before,
          .pad_left = horizontal.pad_before,
          .pad_bottom = vertical.pad_after,
          .pad_right = horizontal.pad_after};
}

}  // namespace

Window ConvolutionWindow(const Node& node, const Shape& image, const Shape& filter) {
  CHECK(filter.Rank() == 4 && image.Rank() == 4 && filter[2] == image[3])
      << node.name << ": image " << image.ToString() << ", filter " << filter.ToString();
  return MakeWindow(node, image, filter[0], filter[1], filter[3]);
}

Window PoolingWindow(const Node& node, const Shape& image) {
  const auto& ksize = GetAttribute<std::vector<int64_t>>(node, "ksize");
  return MakeWindow(node, image, ksize[0], ksize[1], image[3]);
}

}  // namespace cosched
