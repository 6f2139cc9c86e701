// Convolutions, pools, batch normalisation and matrix products of both formats.

#include <algorithm>
#include <utility>

#include "engine/graph/readers/common_ops.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;

size_t At(int64_t i) { return static_cast<size_t>(i); }

// The image itself, in NHWC, and the zeros around it that have not been added yet.
struct PaddedImages {
  Output images;
  Dims pads = {0, 0, 0, 0};
};

PaddedImages TakePadding(OpReader& op, int input) {
  View view = op.PaddedImage(input);
  if (view.padding.empty()) return {.images = op.views().Nhwc(view)};
  return {.images = view.held, .pads = view.padding};
}

Attributes WindowAttributes(const WindowSizes& sizes) {
  const bool none =
      std::all_of(sizes.pads.begin(), sizes.pads.end(), [](int64_t pad) { return pad == 0; });
  Attributes attributes = {{"strides", sizes.strides},
                           {"padding", std::string(none ? "VALID" : "EXPLICIT")}};
  if (!none) attributes["explicit_paddings"] = sizes.pads;
  return attributes;
}

Attributes ConvolutionAttributes(const WindowSizes& sizes) {
  Attributes attributes = WindowAttributes(sizes);
  attributes["dilations"] = sizes.dilations;
  return attributes;
}

Attributes PoolAttributes(const WindowSizes& sizes) {
  Attributes attributes = WindowAttributes(sizes);
  attributes["ksize"] = sizes.window;
  return attributes;
}

void RequireNoDilation(const OpReader& op, const WindowSizes& sizes) {
  if (sizes.dilations != Dims{1, 1}) {
    op.Fail("dilations are " + DimsText(sizes.dilations), "pools without dilation");
  }
}

}  // namespace

int64_t WindowSizes::Extent(int dimension) const {
  return (window[At(dimension)] - 1) * dilations[At(dimension)] + 1;
}

std::vector<int64_t> SamePads(const OpReader& op, const WindowSizes& sizes, const Shape& nhwc,
                              bool more_at_end) {
  if (nhwc.Rank() != 4) op.Fail("input has shape " + nhwc.ToString(), "an image");
  Dims pads;
  for (int d = 0; d < 2; ++d) {
    const int64_t stride = sizes.strides[At(d)];
    const int64_t size = nhwc[1 + d];
    const int64_t windows = (size + stride - 1) / stride;
    const int64_t all = std::max<int64_t>(0, (windows - 1) * stride + sizes.Extent(d) - size);
    const int64_t less = all / 2;
    pads.push_back(more_at_end ? less : all - less);
    pads.push_back(more_at_end ? all - less : less);
  }
  return pads;
}

View Convolved(OpReader& op, Output filter, WindowSizes sizes) {
  PaddedImages input = TakePadding(op, 0);
  bool beyond = false;  // Some window would lie on padding alone, which kernels are not made for.
  for (size_t i = 0; i < 4; ++i) {
    sizes.pads[i] += input.pads[i];
    beyond = beyond || sizes.pads[i] >= sizes.Extent(static_cast<int>(i) / 2);
  }
  if (beyond) {
    const Dims& p = sizes.pads;
    input.images = op.views().Add("Pad", {input.images},
                                  {{"paddings", Dims{0, 0, p[0], p[1], p[2], p[3], 0, 0}}});
    sizes.pads = {0, 0, 0, 0};
  }
  return op.views().Image(
      op.views().Add("Conv2D", {input.images, filter}, ConvolutionAttributes(sizes)));
}

View ConvolvedBack(OpReader& op, int image, Output filter, const WindowSizes& sizes,
                   const Dims& size) {
  const Output images = op.views().Nhwc(op.Image(image));
  const Shape& in = op.views().ShapeOf(images);
  const Shape& weights = op.views().ShapeOf(filter);
  // The filter is of the convolution that this one undoes: [R,S,C/groups,K] with K = our input's.
  if (weights[3] != in[3]) {
    op.Fail("its filter takes " + std::to_string(weights[3]) + " channels, its input has " +
            std::to_string(in[3]));
  }
  for (size_t i = 0; i < 4; ++i) {
    if (sizes.pads[i] >= sizes.Extent(static_cast<int>(i) / 2)) {
      op.Fail("pads " + DimsText(sizes.pads), "less than the window covers");
    }
  }
  Attributes attributes = ConvolutionAttributes(sizes);
  attributes["input_shape"] = Dims{in[0], size[0], size[1], size[2]};
  return op.views().Image(op.views().Add("Conv2DBackpropInput", {filter, images}, attributes));
}

View WithBias(OpReader& op, const View& view, int input) {
  const int64_t channels = view.held_shape[view.held_shape.Rank() - 1];
  const Output bias = op.Vector(input, channels);
  return op.views().Like(view, op.views().Add("BiasAdd", {view.held, bias}));
}

View MaxPooled(OpReader& op, const WindowSizes& sizes, PoolEdges edges) {
  RequireNoDilation(op, sizes);
  const Output images = op.views().Nhwc(op.Image(0));
  WindowSizes ours = sizes;
  ours.pads[1] += edges.bottom;
  ours.pads[3] += edges.right;
  return op.views().Image(op.views().Add("MaxPool", {images}, PoolAttributes(ours)));
}

namespace {

// How many elements of the padded input lie in each window along one dimension.
std::vector<float> Counted(int64_t size, int64_t windows, int64_t window, int64_t stride) {
  std::vector<float> counts;
  for (int64_t i = 0; i < windows; ++i) {
    counts.push_back(static_cast<float>(std::min(i * stride + window, size) - i * stride));
  }
  return counts;
}

// What turns means over whole windows into means over the part within the file's own padding.
Tensor Corrections(const Shape& in, const Shape& out, const WindowSizes& sizes) {
  const std::vector<float> rows =
      Counted(in[1] + sizes.pads[0] + sizes.pads[1], out[1], sizes.window[0], sizes.strides[0]);
  const std::vector<float> columns =
      Counted(in[2] + sizes.pads[2] + sizes.pads[3], out[2], sizes.window[1], sizes.strides[1]);
  Tensor factors(Shape{1, out[1], out[2], 1});
  const auto area = static_cast<float>(sizes.window[0] * sizes.window[1]);
  float* factor = factors.Floats();
  for (const float row : rows) {
    for (const float column : columns) *factor++ = area / (row * column);
  }
  return factors;
}

}  // namespace

View AveragePooled(OpReader& op, WindowSizes sizes, PoolEdges edges, bool count_padding) {
  RequireNoDilation(op, sizes);
  ViewBuilder& views = op.views();
  const bool own =
      std::any_of(sizes.pads.begin(), sizes.pads.end(), [](int64_t p) { return p > 0; });
  const Dims zeros = op.PaddedImage(0).padding;
  Output images;
  // Zeros that are data already, and counted as such, may be padding of ours that is counted.
  bool takes = !zeros.empty() && (!own || count_padding);
  for (size_t i = 0; takes && i < 4; ++i) {
    takes = zeros[i] + sizes.pads[i] < sizes.window[i / 2];
  }
  if (takes) {
    images = TakePadding(op, 0).images;
    for (size_t i = 0; i < 4; ++i) sizes.pads[i] += zeros[i];
    count_padding = true;
  } else {
    images = views.Nhwc(op.Image(0));
    count_padding = count_padding && own;
  }
  WindowSizes ours = sizes;
  ours.pads[1] += edges.bottom;
  ours.pads[3] += edges.right;
  Attributes attributes = PoolAttributes(ours);
  attributes["count_padding"] = count_padding;
  Output result = views.Add("AvgPool", {images}, attributes);
  if (count_padding && edges.bottom + edges.right > 0) {
    const Shape& out = views.ShapeOf(result);
    op.Charge(4 * out[1] * out[2]);
    result =
        views.Add("Mul", {result, views.Const(Corrections(views.ShapeOf(images), out, sizes))});
  }
  return views.Image(result);
}

void BatchNormalize(OpReader& op, float epsilon, float decay, bool training) {
  ViewBuilder& views = op.views();
  View view = op.In(0);
  const Shape shape = view.shape;
  if (shape.Rank() == 2)
    view = views.Reshape(view, views.channels_first() ? Shape{shape[0], shape[1], 1, 1}
                                                      : Shape{shape[0], 1, 1, shape[1]});
  if (view.shape.Rank() != 4) op.Fail("input has shape " + shape.ToString(), "2 or 4 dimensions");
  const Output images = views.Nhwc(view);
  const int64_t channels = views.ShapeOf(images)[3];
  const Output scale = op.Vector(1, channels);
  const Output offset = op.Vector(2, channels);
  const Output mean = op.Vector(3, channels, /*trainable=*/false);
  const Output variance = op.Vector(4, channels, /*trainable=*/false);
  const GraphBuilder::Scope scope(&views.builder(), views.scope());
  const Output result =
      views.builder().BatchNorm(images, scale, offset, mean, variance, training, epsilon, decay);
  op.Give(views.Reshape(views.Image(result), shape));
}

namespace {

// The matrix a as [M,K], and the order in which its columns are held: b's rows follow it, so that
// features flattened from images need no transposition.
struct Rows {
  Output matrix;
  Dims split;  // Sizes of the file's dimensions that make up K; one where they are in order.
  Order order;
};

Rows RowsOf(OpReader& op, const View& a, bool keeps_columns) {
  ViewBuilder& views = op.views();
  const int64_t columns = a.shape[a.shape.Rank() - 1];
  const Shape matrix = {a.shape.Elements() / columns, columns};
  const Shape permuted = a.Permuted();
  const bool by_row = a.shape.Rank() == 2 && !a.IsPermutation() && permuted.Rank() > 1 &&
                      a.order[0] == 0 && permuted[0] == a.shape[0];
  if (keeps_columns || !by_row) {
    const View flat = views.Reshape(views.Plain(views.Plainly(a)), matrix);
    return {.matrix = views.Plainly(flat), .split = {columns}, .order = {0}};
  }
  Rows rows = {.matrix = {}, .split = {}, .order = {}};
  const Order held = Inverse(a.order);
  for (size_t d = 1; d < held.size(); ++d) {
    rows.split.push_back(permuted[static_cast<int>(d)]);
    rows.order.push_back(held[d] - 1);
  }
  View as_held = views.Plain(a.held);
  rows.matrix = views.Plainly(views.Reshape(as_held, matrix));
  return rows;
}

}  // namespace

View Multiplied(OpReader& op, bool transpose_a, bool transpose_b) {
  ViewBuilder& views = op.views();
  const View a = op.In(0);
  const Dims b = op.Dims(1);
  if (a.shape.Rank() < 2 || b.size() != 2 || (transpose_a && a.shape.Rank() != 2)) {
    op.Fail("inputs have shapes " + a.shape.ToString() + " and " + DimsText(b),
            "[…,M,K] and [K,N]");
  }
  const Rows rows = RowsOf(op, a, transpose_a || !op.IsConstant(1));
  const int64_t inner = views.ShapeOf(rows.matrix)[transpose_a ? 0 : 1];
  if (inner != b[transpose_b ? 1 : 0]) {
    op.Fail("inner sizes of " + a.shape.ToString() + " and " + DimsText(b) + " differ");
  }
  WeightLayout layout = {.split = {}, .order = {}, .shape = b};
  if (transpose_b) {
    layout.split = {b[0]};
    layout.order = {0};
  }
  for (size_t d = 0; d < rows.split.size(); ++d) {
    layout.split.push_back(transpose_a ? inner : rows.split[d]);
    layout.order.push_back(rows.order[d] + (transpose_b ? 1 : 0));
  }
  if (!transpose_b) {
    layout.split.push_back(b[1]);
    layout.order.push_back(static_cast<int64_t>(rows.split.size()));
  }
  const Output product = views.Add("MatMul", {rows.matrix, op.Weight(1, layout)},
                                   {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  if (a.shape.Rank() == 2) return views.Plain(product);
  Dims sizes = a.shape.Sizes();
  sizes.back() = views.ShapeOf(product)[1];
  return views.Reshape(views.Plain(product), Shape(sizes));
}

}  // namespace cosched
