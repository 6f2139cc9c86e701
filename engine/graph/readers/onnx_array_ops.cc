// ONNX's ops that move elements, and the links of the chains by which exporters work out shapes.

#include <algorithm>
#include <limits>

#include "engine/graph/readers/common_ops.h"
#include "engine/graph/readers/fold.h"
#include "engine/graph/readers/onnx_ops.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;

// Element types of ONNX's TensorProto.
constexpr int64_t kFloatType = 1;
constexpr int64_t kDoubleType = 11;

void ConstantOp(OpReader& op) {
  const auto& attributes = op.node().attributes;
  if (attributes.size() != 1) op.Fail("has " + std::to_string(attributes.size()) + " values", "1");
  const auto& [name, attribute] = *attributes.begin();
  if (const auto* tensor = std::get_if<ConstantPtr>(&attribute)) {
    return op.Give(SourceValue{.constant = *tensor, .view = {}});
  }
  Constant value;
  if (const auto* number = std::get_if<int64_t>(&attribute)) {
    value = IntConstant({}, {*number});
  } else if (const auto* list = std::get_if<Dims>(&attribute)) {
    value = IntConstant({static_cast<int64_t>(list->size())}, *list);
  } else if (const auto* real = std::get_if<float>(&attribute)) {
    value.floats = Tensor::Scalar(*real);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&attribute)) {
    value.dims = {static_cast<int64_t>(reals->size())};
    if (!reals->empty()) value.floats = Tensor::Of(Shape(value.dims), *reals);
  } else {
    op.Fail("its " + name + " is of a kind that is not supported", "tensors and numbers");
  }
  op.Give(std::move(value));
}

// Attribute until opset 12, input from 13 on; all sizes of 1 where there is neither.
Dims AxesOf(OpReader& op, const char* what) {
  if (op.Has(1)) return op.IntsAt(1, what);
  return op.Ints("axes");
}

// From opset 15 on of the dimensions from `start` to before `end`, which may count from the back.
void ShapeOp(OpReader& op) {
  const int64_t rank = std::ssize(op.Dims(0));
  const auto place = [rank](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t first = place(op.Int("start", 0));
  GiveShape(op, first, std::max(first, place(op.Int("end", rank))));
}

void Unsqueeze(OpReader& op) { InsertAxes(op, AxesOf(op, "axes")); }

void Squeeze(OpReader& op) {
  if (op.Has(1) || op.HasAttribute("axes")) return RemoveAxes(op, AxesOf(op, "axes"));
  Dims axes;
  const Dims& dims = op.Dims(0);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) axes.push_back(static_cast<int64_t>(d));
  }
  RemoveAxes(op, axes);
}

void ReshapeOp(OpReader& op) {
  Dims dims = op.IntsAt(1, "shape");
  const Dims& from = op.Dims(0);
  if (op.Int("allowzero", 0) == 0) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] != 0) continue;
      if (d >= from.size()) op.Fail("shape " + DimsText(dims) + " copies a size that is not there");
      dims[d] = from[d];
    }
  }
  ReshapeInput(op, dims);
}

void Flatten(OpReader& op) {
  const Dims& dims = op.Dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = op.Int("axis", 1);
  if (axis < -rank || axis > rank) op.Fail("axis is " + std::to_string(axis));
  if (axis < 0) axis += rank;
  const int64_t rows = ElementsOf(Dims(dims.begin(), dims.begin() + axis));
  ReshapeInput(op, {rows, rows == 0 ? 0 : ElementsOf(dims) / rows});
}

void TransposeOp(OpReader& op) {
  Order reversed = Identity(static_cast<int>(op.Dims(0).size()));
  std::reverse(reversed.begin(), reversed.end());
  TransposeInput(op, op.Ints("perm", reversed));
}

void Concat(OpReader& op) { ConcatInputs(op, op.InputCount(), op.Int("axis")); }

// numpy's rules: negative indices count from the end, those beyond it are cut.
void SliceOp(OpReader& op) {
  const Dims dims = op.Dims(0);
  const auto rank = static_cast<int>(dims.size());
  const bool inputs = op.InputCount() > 1;
  const Dims starts = inputs ? op.IntsAt(1, "starts") : op.Ints("starts");
  const Dims ends = inputs ? op.IntsAt(2, "ends") : op.Ints("ends");
  Dims axes(starts.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  axes = op.Has(3) ? op.IntsAt(3, "axes") : op.Ints("axes", axes);
  Dims steps(starts.size(), 1);
  if (op.Has(4)) steps = op.IntsAt(4, "steps");
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    op.Fail("starts, ends, axes and steps differ in length");
  }
  op.Axes(axes, rank);
  Dims begins(dims.size(), 0);
  Dims all_steps(dims.size(), 1);
  Dims counts = dims;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto d = static_cast<size_t>(op.Axis(axes[i], rank));
    const int64_t size = dims[d];
    const int64_t step = steps[i];
    if (step == 0 || step == std::numeric_limits<int64_t>::min()) op.Fail("a step is 0");
    const auto from_end = [size](int64_t index) {
      return index < 0 ? std::max(index, -size - 1) + size : std::min(index, size);
    };
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? size : size - 1;
    const int64_t begin =
        std::clamp(from_end(starts[i]), std::min<int64_t>(low + (step < 0), high), high);
    const int64_t end = std::clamp(from_end(ends[i]), low, high);
    const int64_t distance = step > 0 ? end - begin : begin - end;
    const int64_t stride = step > 0 ? step : -step;
    begins[d] = std::max<int64_t>(begin, 0);
    all_steps[d] = step;
    counts[d] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  }
  SliceInput(op, begins, all_steps, counts);
}

void Gather(OpReader& op) { GatherInput(op, op.Int("axis", 0)); }

// Pads are an input since opset 11, an attribute before: first all begins, then all ends.
void PadOp(OpReader& op) {
  const std::string mode = op.Text("mode", "constant");
  if (mode != "constant") op.Fail("mode is \"" + mode + "\"", "constant");
  if (op.Has(3)) op.Fail("has axes", "pads of every dimension");
  const Dims pads = op.Has(1) ? op.IntsAt(1, "pads") : op.Ints("pads");
  const size_t rank = pads.size() / 2;
  Dims ours;
  for (size_t d = 0; d < rank; ++d) {
    ours.push_back(pads[d]);
    ours.push_back(pads[rank + d]);
  }
  PadInput(op, ours, op.Has(2) ? op.FloatAt(2, "value") : op.Float("value", 0.0f));
}

void ReduceMean(OpReader& op) {
  const auto rank = static_cast<int>(op.Dims(0).size());
  Dims axes = op.Has(1) ? op.IntsAt(1, "axes") : op.Ints("axes", Dims());
  if (axes.empty() && op.Int("noop_with_empty_axes", 0) != 0) return PassOn(op);
  if (axes.empty()) axes = Identity(rank);
  MeanOver(op, op.Axes(axes, rank), op.Int("keepdims", 1) != 0);
}

// The kinds of numbers there are here: floats, and integers for shapes.
void Cast(OpReader& op) {
  const int64_t to = op.Int("to");
  const bool to_float = to == kFloatType || to == kDoubleType;
  if (op.IsConstant(0)) return FoldCast(op, 0, to_float);
  if (!to_float) op.Fail("casts images to type " + std::to_string(to), "float");
  PassOn(op);
}

void ConstantOfShape(OpReader& op) {
  const Dims dims = op.IntsAt(0, "shape");
  Constant value;
  value.floats = Tensor::Scalar(0);
  if (op.HasAttribute("value")) {
    const auto* tensor = std::get_if<ConstantPtr>(&op.node().attributes.at("value"));
    if (tensor == nullptr || ElementsOf((*tensor)->dims) != 1) {
      op.Fail("attribute value is no tensor of one element");
    }
    value = **tensor;
  }
  FoldFill(op, dims, value);
}

void Expand(OpReader& op) {
  const Dims dims = op.IntsAt(1, "shape");
  if (op.IsConstant(0)) return FoldExpand(op, 0, dims);
  if (dims != op.Dims(0) && ElementsOf(dims) != 1) {
    op.Fail("expands " + DimsText(op.Dims(0)) + " to " + DimsText(dims),
            "the same shape where the values are not known from the file alone");
  }
  PassOn(op);
}

void Range(OpReader& op) {
  Dims bounds;
  for (int i = 0; i < 3; ++i) {
    const Constant& bound = Known(op, i);
    if (bound.is_float || bound.ints.size() != 1) op.Fail("bounds are not integers");
    bounds.push_back(bound.ints[0]);
  }
  const int64_t step = bounds[2];
  if (step == 0) op.Fail("its step is 0");
  Dims values;
  int64_t value = bounds[0];
  while (step > 0 ? value < bounds[1] : value > bounds[1]) {
    if (static_cast<int64_t>(values.size()) == kMostIntegers) {
      op.Fail("gives too many integers", std::to_string(kMostIntegers) + " at most");
    }
    values.push_back(value);
    if (__builtin_add_overflow(value, step, &value)) break;
  }
  op.Charge(static_cast<int64_t>(8 * values.size()));
  op.Give(IntConstant({static_cast<int64_t>(values.size())}, values));
}

}  // namespace

OpTable OnnxArrayOps() {
  return {{"Constant", ConstantOp},
          {"Shape", ShapeOp},
          {"Unsqueeze", Unsqueeze},
          {"Squeeze", Squeeze},
          {"Reshape", ReshapeOp},
          {"Flatten", Flatten},
          {"Transpose", TransposeOp},
          {"Concat", Concat},
          {"Slice", SliceOp},
          {"Gather", Gather},
          {"Pad", PadOp},
          {"ReduceMean", ReduceMean},
          {"Cast", Cast},
          {"ConstantOfShape", ConstantOfShape},
          {"Expand", Expand},
          {"Range", Range}};
}

const OpTable& OnnxOps() {
  static const OpTable table = [] {
    OpTable all = OnnxWindowOps();
    all.merge(OnnxElementwiseOps());
    all.merge(OnnxArrayOps());
    return all;
  }();
  return table;
}

}  // namespace cosched
