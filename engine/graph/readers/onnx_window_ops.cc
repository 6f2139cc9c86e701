// ONNX's convolutions, pools, normalisations and matrix products.

#include <algorithm>

#include "engine/graph/readers/common_ops.h"
#include "engine/graph/readers/onnx_ops.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;

Shape NhwcOf(const View& image) {
  return {image.shape[0], image.shape[2], image.shape[3], image.shape[1]};
}

bool IsSame(const std::string& auto_pad) {
  return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
}

std::string AutoPad(const OpReader& op) {
  const std::string auto_pad = op.Text("auto_pad", "NOTSET");
  if (!IsSame(auto_pad) && auto_pad != "NOTSET" && auto_pad != "VALID") {
    op.Fail("auto_pad is \"" + auto_pad + "\"", "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  return auto_pad;
}

// `window` is {height, width}; ONNX's pads are {top, left, bottom, right}.
WindowSizes WindowOf(const OpReader& op, const Dims& window) {
  WindowSizes sizes = {.window = window,
                       .strides = op.Sizes("strides", 2, Dims{1, 1}),
                       .dilations = op.Sizes("dilations", 2, Dims{1, 1}),
                       .pads = {0, 0, 0, 0}};
  if (AutoPad(op) == "NOTSET") {
    const Dims pads = op.Sizes("pads", 4, Dims{0, 0, 0, 0}, 0);
    sizes.pads = {pads[0], pads[2], pads[1], pads[3]};
  }
  return sizes;
}

WindowSizes PoolWindow(OpReader& op) {
  const View image = op.Image(0);
  WindowSizes sizes = WindowOf(op, op.Sizes("kernel_shape", 2, {}));
  const std::string auto_pad = AutoPad(op);
  if (IsSame(auto_pad)) sizes.pads = SamePads(op, sizes, NhwcOf(image), auto_pad == "SAME_UPPER");
  return sizes;
}

// With ceil_mode a last window may reach over the padding's end, but must begin before it.
PoolEdges EdgesOf(OpReader& op, const WindowSizes& sizes) {
  PoolEdges edges;
  if (op.Int("ceil_mode", 0) == 0) return edges;
  const Shape in = NhwcOf(op.Image(0));
  for (int d = 0; d < 2; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t size = in[1 + d];
    const int64_t begin = sizes.pads[2 * i];
    const int64_t all = size + begin + sizes.pads[2 * i + 1];
    const int64_t stride = sizes.strides[i];
    if (all < sizes.window[i]) continue;  // The graph complains.
    int64_t windows = (all - sizes.window[i] + stride - 1) / stride + 1;
    if ((windows - 1) * stride >= size + begin) --windows;
    const int64_t more = std::max<int64_t>(0, (windows - 1) * stride + sizes.window[i] - all);
    (d == 0 ? edges.bottom : edges.right) = more;
  }
  return edges;
}

// The filter's dimensions, checked: [K,C/groups,R,S].
const Dims& FilterDims(const OpReader& op) {
  const Dims& dims = op.Dims(1);
  const bool fits = dims.size() == 4 && std::all_of(dims.begin(), dims.end(), [](int64_t size) {
                      return size >= 1 && size <= kMostWindow * 16;
                    });
  if (!fits) op.Fail("its filter has shape " + DimsText(dims), "4 dimensions, for images");
  const Dims window = {dims[2], dims[3]};
  if (op.Ints("kernel_shape", window) != window) {
    op.Fail("kernel_shape is " + DimsText(op.Ints("kernel_shape")) + ", its filter " +
            DimsText(dims));
  }
  return dims;
}

void Conv(OpReader& op) {
  const View image = op.PaddedImage(0);
  const Dims filter = FilterDims(op);
  const int64_t groups = op.Int("group", 1);
  if (groups < 1 || filter[0] % groups != 0 || image.shape[1] % groups != 0 ||
      image.shape[1] / groups != filter[1]) {
    op.Fail("image " + image.shape.ToString() + ", filter " + DimsText(filter) + " and " +
                std::to_string(groups) + " groups do not fit",
            "image [N,C,H,W], filter [K,C/groups,R,S], groups dividing C and K");
  }
  WindowSizes sizes = WindowOf(op, {filter[2], filter[3]});
  const std::string auto_pad = AutoPad(op);
  if (IsSame(auto_pad)) {
    sizes.pads = SamePads(op, sizes, NhwcOf(image), auto_pad == "SAME_UPPER");
  }
  const WeightLayout layout = {.split = filter,
                               .order = {2, 3, 1, 0},
                               .shape = {filter[2], filter[3], filter[1], filter[0]}};
  const View result = Convolved(op, op.Weight(1, layout), sizes);
  op.Give(op.Has(2) ? WithBias(op, result, 2) : result);
}

// The filter is [C,K/groups,R,S]: that of the convolution which goes the other way.
void ConvTranspose(OpReader& op) {
  const View image = op.Image(0);
  const Dims filter = FilterDims(op);
  const int64_t groups = op.Int("group", 1);
  if (groups < 1 || groups > kMostWindow || image.shape[1] != filter[0] ||
      filter[0] % groups != 0) {
    op.Fail("image " + image.shape.ToString() + ", filter " + DimsText(filter) + " and " +
                std::to_string(groups) + " groups do not fit",
            "image [N,C,H,W], filter [C,K/groups,R,S], groups dividing C");
  }
  WindowSizes sizes = WindowOf(op, {filter[2], filter[3]});
  const Dims more = op.Sizes("output_padding", 2, Dims{0, 0}, 0);
  const std::string auto_pad = AutoPad(op);
  Dims result;
  Dims asked;
  if (op.HasAttribute("output_shape")) asked = op.Sizes("output_shape", 2, {});
  for (int d = 0; d < 2; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t stride = sizes.strides[i];
    const int64_t full = stride * (image.shape[2 + d] - 1) + more[i] + sizes.Extent(d);
    if (!asked.empty() || IsSame(auto_pad)) {
      const int64_t size = asked.empty() ? image.shape[2 + d] * stride : asked[i];
      const int64_t all = std::max<int64_t>(0, full - size);
      const bool begins = auto_pad != "SAME_UPPER";  // Gets the odd one.
      sizes.pads[2 * i] = begins ? all - all / 2 : all / 2;
      sizes.pads[2 * i + 1] = all - sizes.pads[2 * i];
      result.push_back(size);
    } else {
      result.push_back(full - sizes.pads[2 * i] - sizes.pads[2 * i + 1]);
    }
    if (result.back() < 1 || more[i] >= std::max(stride, sizes.dilations[i])) {
      op.Fail("its result would have size " + std::to_string(result.back()) +
                  " with output_padding " + std::to_string(more[i]),
              "sizes above 0, output_padding below stride or dilation");
    }
  }
  result.push_back(filter[1] * groups);
  const WeightLayout layout = {.split = filter,
                               .order = {2, 3, 1, 0},
                               .shape = {filter[2], filter[3], filter[1], filter[0]}};
  const View view = ConvolvedBack(op, 0, op.Weight(1, layout), sizes, result);
  op.Give(op.Has(2) ? WithBias(op, view, 2) : view);
}

void MaxPool(OpReader& op) {
  const WindowSizes sizes = PoolWindow(op);
  op.Give(MaxPooled(op, sizes, EdgesOf(op, sizes)));
}

void AveragePool(OpReader& op) {
  const WindowSizes sizes = PoolWindow(op);
  op.Give(AveragePooled(op, sizes, EdgesOf(op, sizes), op.Int("count_include_pad", 0) != 0));
}

void GlobalAveragePool(OpReader& op) {
  op.Image(0);
  MeanOver(op, {2, 3}, /*keep_dims=*/true);
}

void GlobalMaxPool(OpReader& op) {
  const View image = op.Image(0);
  op.Give(MaxPooled(op,
                    {.window = {image.shape[2], image.shape[3]},
                     .strides = {1, 1},
                     .dilations = {1, 1},
                     .pads = {0, 0, 0, 0}},
                    {}));
}

void BatchNormalization(OpReader& op) {
  // A file's training_mode says how it was exported; here the tenant's mode decides.
  if (op.Int("spatial", 1) != 1) op.Fail("spatial is 0", "statistics by channel");
  BatchNormalize(op, op.Float("epsilon", 1e-5f), op.Float("momentum", 0.9f), op.training());
}

void Lrn(OpReader& op) {
  const int64_t size = op.Int("size");
  if (size < 1 || size > kMostWindow || size % 2 == 0) {
    op.Fail("size is " + std::to_string(size), "odd numbers of channels");
  }
  LocalResponse(op, (size - 1) / 2, op.Float("bias", 1.0f),
                op.Float("alpha", 1e-4f) / static_cast<float>(size), op.Float("beta", 0.75f));
}

View Scaled(OpReader& op, const View& view, float factor) {
  if (factor == 1) return view;
  return op.views().Like(view,
                         op.views().Add("Mul", {view.held, op.Literal(Tensor::Scalar(factor))}));
}

void Gemm(OpReader& op) {
  View result = Multiplied(op, op.Int("transA", 0) != 0, op.Int("transB", 0) != 0);
  result = Scaled(op, result, op.Float("alpha", 1.0f));
  if (!op.Has(2)) return op.Give(result);
  const float beta = op.Float("beta", 1.0f);
  const int64_t columns = result.shape[result.shape.Rank() - 1];
  const Dims& dims = op.Dims(2);
  if (beta == 1 && !dims.empty() && ElementsOf(dims) == columns && dims.back() == columns) {
    return op.Give(WithBias(op, result, 2));
  }
  const View added = Scaled(op, op.In(2), beta);
  const Output sum = op.views().Add("AddV2", {result.held, op.views().Plainly(added)});
  if (op.views().ShapeOf(sum) != result.held_shape) {
    op.Fail("its third input has shape " + DimsText(dims), result.shape.ToString());
  }
  op.Give(op.views().Like(result, sum));
}

void MatMul(OpReader& op) { op.Give(Multiplied(op, false, false)); }

}  // namespace

OpTable OnnxWindowOps() {
  return {{"Conv", Conv},
          {"ConvTranspose", ConvTranspose},
          {"MaxPool", MaxPool},
          {"AveragePool", AveragePool},
          {"GlobalAveragePool", GlobalAveragePool},
          {"GlobalMaxPool", GlobalMaxPool},
          {"BatchNormalization", BatchNormalization},
          {"LRN", Lrn},
          {"Gemm", Gemm},
          {"MatMul", MatMul}};
}

}  // namespace cosched
