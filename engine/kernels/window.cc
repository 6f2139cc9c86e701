#include "engine/kernels/window.h"

#include "engine/base/check.h"

namespace cosched {
namespace {

struct Padded {
  int64_t size, pad_before, pad_after;
};

// Windows of `reach` cells along dimension 0 = height or 1 = width.
Padded Slide(const Node& node, int dimension, int64_t input, int64_t reach, int64_t stride) {
  const auto& padding = GetAttribute<std::string>(node, "padding");
  if (padding == "SAME") {
    const int64_t size = (input + stride - 1) / stride;
    const int64_t pad = std::max<int64_t>((size - 1) * stride + reach - input, 0);
    return {size, pad / 2, pad - pad / 2};
  }
  int64_t before = 0, after = 0;
  if (padding == "EXPLICIT") {
    const auto& paddings = GetAttribute<std::vector<int64_t>>(node, "explicit_paddings");
    before = paddings[static_cast<size_t>(2 * dimension)];
    after = paddings[static_cast<size_t>(2 * dimension + 1)];
  }
  return {(input + before + after - reach) / stride + 1, before, after};
}

// Everything but where the window lies.
Window WindowOf(const Shape& image, int64_t rows, int64_t columns, int64_t out_channels) {
  return {.batch = image[0],
          .height = image[1],
          .width = image[2],
          .channels = image[3],
          .rows = rows,
          .columns = columns,
          .out_channels = out_channels};
}

void PlaceWindow(const Node& node, Window* w) {
  const auto& strides = GetAttribute<std::vector<int64_t>>(node, "strides");
  w->stride_height = strides[0];
  w->stride_width = strides[1];
  const int64_t width = (w->columns - 1) * w->dilation_width + 1;
  const Padded vertical = Slide(node, 0, w->height, w->Height(), w->stride_height);
  const Padded horizontal = Slide(node, 1, w->width, width, w->stride_width);
  w->out_height = vertical.size;
  w->pad_top = vertical.pad_before;
  w->pad_bottom = vertical.pad_after;
  w->out_width = horizontal.size;
  w->pad_left = horizontal.pad_before;
  w->pad_right = horizontal.pad_after;
}

}  // namespace

Window ConvolutionWindow(const Node& node, const Shape& image, const Shape& filter) {
  CHECK(filter.Rank() == 4 && image.Rank() == 4 && image[3] % filter[2] == 0)
      << node.name << ": image " << image.ToString() << ", filter " << filter.ToString();
  Window w = WindowOf(image, filter[0], filter[1], filter[3]);
  const auto& dilations = GetAttribute<std::vector<int64_t>>(node, "dilations");
  w.dilation_height = dilations[0];
  w.dilation_width = dilations[1];
  w.groups = image[3] / filter[2];
  PlaceWindow(node, &w);
  return w;
}

Window PoolingWindow(const Node& node, const Shape& image) {
  CHECK(image.Rank() == 4) << node.name << ": image " << image.ToString();
  const auto& ksize = GetAttribute<std::vector<int64_t>>(node, "ksize");
  Window w = WindowOf(image, ksize[0], ksize[1], image[3]);
  w.count_padding = GetAttributeOr<bool>(node, "count_padding", false);
  PlaceWindow(node, &w);
  return w;
}

}  // namespace cosched
