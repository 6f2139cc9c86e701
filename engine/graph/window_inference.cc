// Shapes of convolutions and pools, by TF's rules.

#include <limits>

#include "engine/graph/shape_inference.h"

namespace cosched::infer {
namespace {

struct Pair {
  int64_t height;
  int64_t width;
};

// Sizes of a window beyond this make no sense, and sums of some within it don't overflow.
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

Pair PairOf(const Inference& node, const std::string& name) {
  const std::vector<int64_t>& sizes = node.Ints(name);
  const auto fits = [](int64_t size) { return size >= 1 && size <= kMaxSize; };
  if (sizes.size() != 2 || !fits(sizes[0]) || !fits(sizes[1])) {
    node.Fail(name + " is " + Shape(sizes).ToString(), "{height, width}, both at least 1");
  }
  return {sizes[0], sizes[1]};
}

// "explicit_paddings": {top, bottom, left, right} with EXPLICIT, else empty.
void CheckPaddings(const Inference& node) {
  const std::string& padding = node.String("padding");
  const std::vector<int64_t>& paddings = node.Ints("explicit_paddings");
  if (padding != "SAME" && padding != "VALID" && padding != "EXPLICIT") {
    node.Fail("padding is \"" + padding + "\"", "\"SAME\", \"VALID\" or \"EXPLICIT\"");
  }
  bool fits = paddings.size() == (padding == "EXPLICIT" ? 4 : 0);
  for (int64_t pad : paddings) fits = fits && pad >= 0 && pad <= kMaxSize;
  if (fits) return;
  node.Fail("explicit_paddings is " + Shape(paddings).ToString() + " with padding " + padding,
            padding == "EXPLICIT" ? "{top, bottom, left, right}, none below 0" : "none");
}

// How many windows fit along one dimension: 0 for height, 1 for width.
int64_t Windows(const Inference& node, int dimension, int64_t size, int64_t window,
                int64_t stride) {
  const std::string& padding = node.String("padding");
  if (padding == "SAME") return (size + stride - 1) / stride;
  int64_t padded = size;
  if (padding == "EXPLICIT") {
    const auto begin = node.Ints("explicit_paddings").begin() + 2 * dimension;
    padded += begin[0] + begin[1];
  }
  if (padded < window) {
    node.Fail("a window of " + std::to_string(window) + " does not fit into " +
              std::to_string(padded) + " with padding " + padding);
  }
  return (padded - window) / stride + 1;
}

Shape ConvolutionOutput(const Inference& node, const Shape& image, const Shape& filter) {
  // The filter is of a group of channels each; as many groups as fill the image.
  const bool fits = image.Rank() == 4 && filter.Rank() == 4 && image[3] % filter[2] == 0 &&
                    filter[3] % (image[3] / filter[2]) == 0;
  if (!fits) {
    node.Fail("image " + image.ToString() + " does not fit filter " + filter.ToString(),
              "image [N,H,W,C] and filter [R,S,C/groups,K], groups dividing C and K");
  }
  const Pair strides = PairOf(node, "strides"), dilations = PairOf(node, "dilations");
  CheckPaddings(node);
  return {
      image[0], Windows(node, 0, image[1], (filter[0] - 1) * dilations.height + 1, strides.height),
      Windows(node, 1, image[2], (filter[1] - 1) * dilations.width + 1, strides.width), filter[3]};
}

Shape PoolOutput(const Inference& node, const Shape& image) {
  if (image.Rank() != 4) node.Fail("input has shape " + image.ToString(), "[N,H,W,C]");
  const Pair window = PairOf(node, "ksize"), strides = PairOf(node, "strides");
  CheckPaddings(node);
  const std::vector<int64_t>& paddings = node.Ints("explicit_paddings");
  for (size_t i = 0; i < paddings.size(); ++i) {
    // Else some window might lie on padding alone, whose maximum is of nothing.
    if (paddings[i] < (i < 2 ? window.height : window.width)) continue;
    node.Fail("explicit_paddings is " + Shape(paddings).ToString() + " for a window of " +
                  Shape(node.Ints("ksize")).ToString(),
              "paddings below the window's size");
  }
  return {image[0], Windows(node, 0, image[1], window.height, strides.height),
          Windows(node, 1, image[2], window.width, strides.width), image[3]};
}

}  // namespace

Outputs Conv2D(const Inference& node) {
  return {{ConvolutionOutput(node, node.In(0), node.In(1))}};
}

Outputs Conv2DBackpropInput(const Inference& node) {
  const Shape image = node.ShapeOf("input_shape");
  node.RequireShape(1, ConvolutionOutput(node, image, node.In(0)));
  return {{image}};
}

Outputs Conv2DBackpropFilter(const Inference& node) {
  const Shape filter = node.ShapeOf("filter_shape");
  node.RequireShape(1, ConvolutionOutput(node, node.In(0), filter));
  return {{filter}};
}

Outputs Pool(const Inference& node) { return {{PoolOutput(node, node.In(0))}}; }

Outputs MaxPoolGrad(const Inference& node) {
  const Shape output = PoolOutput(node, node.In(0));
  node.RequireShape(1, output);
  node.RequireShape(2, output);
  return {{node.In(0)}};
}

Outputs AvgPoolGrad(const Inference& node) {
  const Shape image = node.ShapeOf("input_shape");
  node.RequireShape(0, PoolOutput(node, image));
  return {{image}};
}

}  // namespace cosched::infer
