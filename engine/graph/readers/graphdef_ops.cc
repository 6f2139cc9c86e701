// The op functions of TensorFlow's GraphDef, images in NHWC. Definitions: tensorflow.org/api_docs/
// python/tf/raw_ops.

#include <algorithm>
#include <limits>

#include "engine/graph/readers/common_ops.h"
#include "engine/graph/readers/fold.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;

void RequireNhwc(const OpReader& op) {
  const std::string format = op.Text("data_format", "NHWC");
  if (format != "NHWC") op.Fail("data_format is \"" + format + "\"", "NHWC");
}

// {height, width} of an attribute by dimension, whose batch and channels must be 1.
Dims Spatial(const OpReader& op, const char* name, std::optional<Dims> otherwise) {
  const Dims sizes = op.Sizes(name, 4, std::move(otherwise));
  if (sizes[0] != 1 || sizes[3] != 1) {
    op.Fail(std::string(name) + " is " + DimsText(sizes), "1 for batch and channels");
  }
  return {sizes[1], sizes[2]};
}

WindowSizes WindowOf(const OpReader& op, const Dims& window, const Shape& image) {
  RequireNhwc(op);
  WindowSizes sizes = {.window = window,
                       .strides = Spatial(op, "strides", {}),
                       .dilations = Spatial(op, "dilations", Dims{1, 1, 1, 1}),
                       .pads = {0, 0, 0, 0}};
  const std::string padding = op.Text("padding");
  if (padding == "SAME") {
    sizes.pads = SamePads(op, sizes, image, /*more_at_end=*/true);
  } else if (padding == "EXPLICIT") {
    const Dims pads = op.Sizes("explicit_paddings", 8, {}, 0);
    if (pads[0] + pads[1] + pads[6] + pads[7] > 0) op.Fail("pads batch or channels");
    sizes.pads = {pads[2], pads[3], pads[4], pads[5]};
  } else if (padding != "VALID") {
    op.Fail("padding is \"" + padding + "\"", "SAME, VALID, EXPLICIT");
  }
  return sizes;
}

const Dims& FilterDims(const OpReader& op, int input) {
  const Dims& dims = op.Dims(input);
  if (dims.size() != 4 || ElementsOf(dims) < 1 || dims[0] > kMostWindow || dims[1] > kMostWindow) {
    op.Fail("its filter has shape " + DimsText(dims), "[R,S,C,K]");
  }
  return dims;
}

void Conv2D(OpReader& op) {
  const Dims filter = FilterDims(op, 1);
  const View image = op.PaddedImage(0);
  if (image.shape[3] % filter[2] != 0) {
    op.Fail("image " + image.shape.ToString() + " does not fit filter " + DimsText(filter));
  }
  const WindowSizes sizes = WindowOf(op, {filter[0], filter[1]}, image.shape);
  op.Give(Convolved(op, op.Weight(1, WeightLayout::AsIs(filter)), sizes));
}

// A group a channel: [R,S,C,M] is our [R,S,1,C*M], element for element.
void DepthwiseConv2d(OpReader& op) {
  const Dims filter = FilterDims(op, 1);
  const View image = op.PaddedImage(0);
  if (image.shape[3] != filter[2]) {
    op.Fail("image " + image.shape.ToString() + " does not fit filter " + DimsText(filter));
  }
  WeightLayout layout = WeightLayout::AsIs(filter);
  layout.shape = {filter[0], filter[1], 1, filter[2] * filter[3]};
  const WindowSizes sizes = WindowOf(op, {filter[0], filter[1]}, image.shape);
  op.Give(Convolved(op, op.Weight(1, layout), sizes));
}

void Conv2DBackpropInput(OpReader& op) {
  const Dims size = op.IntsAt(0, "input_sizes");
  const Dims filter = FilterDims(op, 1);
  const View image = op.Image(2);
  const bool fits = size.size() == 4 && size[0] == image.shape[0] &&
                    std::all_of(size.begin(), size.end(), [](int64_t s) {
                      return s >= 1 && s <= std::numeric_limits<int32_t>::max();
                    });
  if (!fits) op.Fail("input_sizes are " + DimsText(size), "[N,H,W,C], N as its image has it");
  const WindowSizes sizes = WindowOf(op, {filter[0], filter[1]}, Shape(size));
  op.Give(ConvolvedBack(op, 2, op.Weight(1, WeightLayout::AsIs(filter)), sizes,
                        {size[1], size[2], size[3]}));
}

WindowSizes PoolWindow(OpReader& op) {
  return WindowOf(op, Spatial(op, "ksize", {}), op.Image(0).shape);
}
void MaxPool(OpReader& op) { op.Give(MaxPooled(op, PoolWindow(op), {})); }
void AvgPool(OpReader& op) { op.Give(AveragePooled(op, PoolWindow(op), {}, false)); }

void BiasAdd(OpReader& op) {
  RequireNhwc(op);
  View view = op.In(0);
  view = op.views().Plain(op.views().Plainly(view));
  if (view.shape.Rank() < 2) op.Fail("input has shape " + view.shape.ToString());
  op.Give(WithBias(op, view, 1));
}

// TensorFlow's running averages follow exponential_avg_factor, of newer files alone; training here
// goes on with the usual 0.99 of Keras.
void FusedBatchNorm(OpReader& op) {
  RequireNhwc(op);
  if (op.Int("is_training", 1) != 0) {
    op.Fail("is_training is true", "a graph frozen for inference");
  }
  BatchNormalize(op, op.Float("epsilon", 1e-4f), 0.99f, op.training());
}

void MatMul(OpReader& op) {
  op.Give(Multiplied(op, op.Int("transpose_a", 0) != 0, op.Int("transpose_b", 0) != 0));
}

void Softmax(OpReader& op) {
  const auto rank = static_cast<int>(op.Dims(0).size());
  if (rank < 1) op.Fail("its input is a scalar");
  SoftmaxOver(op, rank - 1);
}

void Lrn(OpReader& op) {
  const int64_t radius = op.Int("depth_radius", 5);
  if (radius < 0 || radius > kMostWindow) op.Fail("depth_radius is " + std::to_string(radius));
  LocalResponse(op, radius, op.Float("bias", 1.0f), op.Float("alpha", 1.0f),
                op.Float("beta", 0.5f));
}

Dims AxesAt(OpReader& op, int input) {
  const Constant& axes = Known(op, input);
  if (axes.is_float) op.Fail("axes are of floats");
  return op.Axes(axes.ints, static_cast<int>(op.Dims(0).size()));
}

void Mean(OpReader& op) { MeanOver(op, AxesAt(op, 1), op.Int("keep_dims", 0) != 0); }

int64_t OneInt(const OpReader& op, int input, const char* what) {
  const Constant& constant = op.ConstantAt(input, what);
  if (constant.is_float || constant.ints.size() != 1) op.Fail(std::string(what) + " is no integer");
  return constant.ints[0];
}

// The axis is the last input, in Concat the first.
void ConcatV2(OpReader& op) {
  const int count = op.InputCount() - 1;
  if (count < 1) op.Fail("joins nothing");
  ConcatInputs(op, count, OneInt(op, count, "axis"));
}

void Reshape(OpReader& op) { ReshapeInput(op, op.IntsAt(1, "shape")); }
void ExpandDims(OpReader& op) { InsertAxes(op, {OneInt(op, 1, "dim")}); }

void Squeeze(OpReader& op) {
  Dims axes = op.Ints(op.HasAttribute("squeeze_dims") ? "squeeze_dims" : "axis", Dims{});
  const Dims& dims = op.Dims(0);
  for (size_t d = 0; axes.empty() && d < dims.size(); ++d) {
    if (dims[d] != 1) continue;
    for (size_t i = d; i < dims.size(); ++i) {
      if (dims[i] == 1) axes.push_back(static_cast<int64_t>(i));
    }
  }
  RemoveAxes(op, axes);
}

void Transpose(OpReader& op) { TransposeInput(op, op.IntsAt(1, "perm")); }

void Pad(OpReader& op) {
  const Constant& pads = Known(op, 1);
  if (pads.is_float) op.Fail("paddings are of floats");
  PadInput(op, pads.ints, op.Has(2) ? op.FloatAt(2, "constant_values") : 0.0f);
}

// Scalars become one dimension more; of constants only: it belongs to shape chains.
void Pack(OpReader& op) {
  const int count = op.InputCount();
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(OneInt(op, i, "value"));
  op.Charge(static_cast<int64_t>(8 * values.size()));
  op.Give(IntConstant({count}, values));
}

bool Bit(int64_t mask, size_t i) { return i < 63 && ((mask >> i) & 1) != 0; }

void StridedSlice(OpReader& op) {
  const Dims dims = op.Dims(0);
  const Dims begins = op.IntsAt(1, "begin");
  const Dims ends = op.IntsAt(2, "end");
  const Dims strides = op.IntsAt(3, "strides");
  if (op.Int("ellipsis_mask", 0) != 0 || op.Int("new_axis_mask", 0) != 0) {
    op.Fail("has an ellipsis or a new axis", "begin, end and stride of each dimension");
  }
  if (begins.size() > dims.size() || ends.size() != begins.size() ||
      strides.size() != begins.size()) {
    op.Fail("begin, end and strides do not fit shape " + DimsText(dims));
  }
  Dims first(dims.size(), 0);
  Dims counts = dims;
  Dims kept;
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool named = d < begins.size();
    if (named) {
      if (strides[d] != 1) op.Fail("strides are " + DimsText(strides), "1");
      const auto index = [&](int64_t i) {
        return std::clamp<int64_t>(i < 0 ? std::max(i, -dims[d]) + dims[d] : i, 0, dims[d]);
      };
      const bool one = Bit(op.Int("shrink_axis_mask", 0), d);
      first[d] = Bit(op.Int("begin_mask", 0), d) ? 0 : index(begins[d]);
      const int64_t end = Bit(op.Int("end_mask", 0), d) ? dims[d] : index(ends[d]);
      counts[d] = one ? 1 : std::max<int64_t>(0, end - first[d]);
      if (first[d] + counts[d] > dims[d]) op.Fail("begin " + DimsText(begins) + " is out of range");
      if (one) continue;
    }
    kept.push_back(counts[d]);
  }
  SliceInput(op, first, Dims(dims.size(), 1), counts);
  if (kept.size() != counts.size()) ReshapeResult(op, kept);
}

void Fill(OpReader& op) {
  const Constant& value = Known(op, 1);
  if (ElementsOf(value.dims) != 1) op.Fail("its value has shape " + DimsText(value.dims));
  FoldFill(op, op.IntsAt(0, "dims"), value);
}

void Cast(OpReader& op) {
  const int64_t to = op.Int("DstT");
  const bool to_float = to == 1 || to == 2;
  if (op.IsConstant(0)) return FoldCast(op, 0, to_float);
  if (!to_float) op.Fail("casts images to type " + std::to_string(to), "DT_FLOAT");
  PassOn(op);
}

void Add(OpReader& op) { BinaryElementwise(op, "AddV2", "Add"); }
void Sub(OpReader& op) { BinaryElementwise(op, "Sub", "Sub"); }
void Mul(OpReader& op) { BinaryElementwise(op, "Mul", "Mul"); }
void RealDiv(OpReader& op) { BinaryElementwise(op, "RealDiv", "Div"); }
void FloorMod(OpReader& op) { FoldBinary(op, "Mod"); }
void FoldOne(OpReader& op) { FoldUnary(op, op.node().op); }
void Identity0(OpReader& op) { PassOn(op); }

// max(x, 0) and min(x, 6) are how some exporters write activations.
void Bounded(OpReader& op) {
  const bool lower = op.node().op == "Maximum";
  constexpr float kMost = std::numeric_limits<float>::max();
  if (op.AllConstant()) return FoldBinary(op, lower ? "Max" : "Min");
  const float bound = op.FloatAt(1, "bound");
  Clip(op, lower ? bound : -kMost, lower ? kMost : bound);
}

}  // namespace

const OpTable& GraphDefOps() {
  static const OpTable table = {
      {"Conv2D", Conv2D},
      {"DepthwiseConv2dNative", DepthwiseConv2d},
      {"Conv2DBackpropInput", Conv2DBackpropInput},
      {"MaxPool", MaxPool},
      {"AvgPool", AvgPool},
      {"BiasAdd", BiasAdd},
      {"FusedBatchNorm", FusedBatchNorm},
      {"FusedBatchNormV2", FusedBatchNorm},
      {"FusedBatchNormV3", FusedBatchNorm},
      {"MatMul", MatMul},
      {"Softmax", Softmax},
      {"LRN", Lrn},
      {"Mean", Mean},
      {"ConcatV2", ConcatV2},
      {"Reshape", Reshape},
      {"ExpandDims", ExpandDims},
      {"Squeeze", Squeeze},
      {"Transpose", Transpose},
      {"Pad", Pad},
      {"PadV2", Pad},
      {"Shape", [](OpReader& op) { GiveShape(op, 0, std::ssize(op.Dims(0))); }},
      {"Pack", Pack},
      {"StridedSlice", StridedSlice},
      {"Fill", Fill},
      {"Cast", Cast},
      {"Relu", [](OpReader& op) { Elementwise(op, "Relu"); }},
      {"Relu6", [](OpReader& op) { Elementwise(op, "Relu6"); }},
      {"Sigmoid", [](OpReader& op) { Elementwise(op, "Sigmoid"); }},
      {"Maximum", Bounded},
      {"Minimum", Bounded},
      {"Add", Add},
      {"AddV2", Add},
      {"Sub", Sub},
      {"Mul", Mul},
      {"RealDiv", RealDiv},
      {"FloorMod", FloorMod},
      {"Rsqrt", FoldOne},
      {"Sqrt", FoldOne},
      {"Neg", FoldOne},
      {"Identity", Identity0},
      {"StopGradient", Identity0},
      {"CheckNumerics", Identity0}};
  return table;
}

}  // namespace cosched
