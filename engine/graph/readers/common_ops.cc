#include "engine/graph/readers/common_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/graph/readers/fold.h"

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;

size_t At(int64_t i) { return static_cast<size_t>(i); }

// With leading sizes of 1 up to this rank.
Dims Padded(const Dims& dims, size_t rank) {
  Dims result(rank - std::min(rank, dims.size()), 1);
  result.insert(result.end(), dims.begin(), dims.end());
  return result;
}

// Held as a permutation of the file's dimensions.
View Permutation(OpReader& op, const View& view) {
  return view.IsPermutation() ? view : op.views().Plain(op.views().Plainly(view));
}

// The values of `view` by the file's dimensions, in the order in which it is held.
template <typename T>
std::vector<T> InHeldOrder(const View& view, const std::vector<T>& by_dimension) {
  std::vector<T> result(by_dimension.size());
  for (size_t d = 0; d < by_dimension.size(); ++d) result[At(view.order[d])] = by_dimension[d];
  return result;
}

View HeldLike(const View& view, Output held, const Shape& held_shape) {
  View result = {.held = held, .held_shape = held_shape, .order = view.order, .shape = {}};
  result.shape = result.Permuted();
  return result;
}

}  // namespace

void ReshapeInput(OpReader& op, Dims dims) {
  const Dims& from = op.Dims(0);
  const auto open = std::find(dims.begin(), dims.end(), -1);
  if (open != dims.end()) {
    *open = 1;
    const int64_t known = ElementsOf(dims);
    *open = known > 0 ? ElementsOf(from) / known : 0;
  }
  if (ElementsOf(dims) != ElementsOf(from)) {
    op.Fail("cannot reshape " + DimsText(from) + " to " + DimsText(dims),
            std::to_string(ElementsOf(from)) + " elements, at most one size -1");
  }
  if (op.IsConstant(0)) return FoldReshape(op, 0, dims);
  op.Give(op.views().Reshape(op.In(0), Shape(std::move(dims))));
}

void ReshapeResult(OpReader& op, const Dims& dims) {
  const SourceValue given = op.Given();
  if (given.constant == nullptr) return op.Give(op.views().Reshape(given.view, Shape(dims)));
  Constant result = *given.constant;
  result.dims = dims;
  if (!result.floats.IsEmpty()) result.floats = result.floats.Reshaped(Shape(dims));
  op.Give(std::move(result));
}

void TransposeInput(OpReader& op, const Order& order) {
  Order sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != Identity(static_cast<int>(op.Dims(0).size()))) {
    op.Fail("the permutation " + DimsText(order) + " does not fit " + DimsText(op.Dims(0)),
            "each dimension from 0 on, once");
  }
  if (op.IsConstant(0)) return FoldTranspose(op, 0, order);
  op.Give(op.views().Transpose(op.In(0), order));
}

void InsertAxes(OpReader& op, const Dims& axes) {
  Dims dims = op.Dims(0);
  if (dims.size() + axes.size() > kMostRank) {
    op.Fail(std::to_string(axes.size()) + " axes more than " + DimsText(dims),
            std::to_string(kMostRank) + " dimensions at most");
  }
  for (const int64_t axis : op.Axes(axes, static_cast<int>(dims.size() + axes.size()))) {
    dims.insert(dims.begin() + axis, 1);
  }
  ReshapeInput(op, dims);
}

void RemoveAxes(OpReader& op, const Dims& axes) {
  Dims dims = op.Dims(0);
  const Dims sorted = op.Axes(axes, static_cast<int>(dims.size()));
  for (auto axis = sorted.rbegin(); axis != sorted.rend(); ++axis) {
    if (dims[At(*axis)] != 1) {
      op.Fail("axis " + std::to_string(*axis) + " of " + DimsText(op.Dims(0)) + " is not 1");
    }
    dims.erase(dims.begin() + *axis);
  }
  ReshapeInput(op, dims);
}

void PassOn(OpReader& op, int input) { op.Give(op.Value(input)); }

void GiveShape(OpReader& op, int64_t first, int64_t last) {
  const Dims all = op.Dims(0);
  const Dims dims(all.begin() + first, all.begin() + last);
  op.Charge(static_cast<int64_t>(8 * dims.size()));
  op.Give(IntConstant({static_cast<int64_t>(dims.size())}, dims));
}

void ConcatInputs(OpReader& op, int count, int64_t axis) {
  const size_t rank = op.Dims(0).size();
  axis = op.Axis(axis, static_cast<int>(rank));
  if (op.AllConstant()) return FoldConcat(op, count, axis);
  std::vector<View> views;
  Order order = Identity(static_cast<int>(rank));
  for (int i = 0; i < count; ++i) {
    if (op.Dims(i).size() != rank) {
      op.Fail("input " + std::to_string(i) + " has shape " + DimsText(op.Dims(i)) + ", input 0 " +
                  DimsText(op.Dims(0)),
              "shapes that differ in dimension " + std::to_string(axis) + " alone");
    }
    views.push_back(op.In(i));
    if (!op.IsConstant(i) && views.back().IsPermutation()) order = views.back().order;
  }
  std::vector<Output> parts;
  for (const View& view : views) parts.push_back(op.views().Held(view, order));
  const Output joined = op.views().Add("ConcatV2", parts, {{"axis", order[At(axis)]}});
  op.Give(HeldLike({.held = {}, .held_shape = {}, .order = order, .shape = {}}, joined,
                   op.views().ShapeOf(joined)));
}

void SliceInput(OpReader& op, const Dims& begins, const Dims& steps, const Dims& counts) {
  if (op.IsConstant(0)) return FoldSlice(op, 0, begins, steps, counts);
  if (counts == op.Dims(0) &&
      std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; })) {
    return PassOn(op);
  }
  for (size_t d = 0; d < steps.size(); ++d) {
    if (counts[d] > 1 && steps[d] != 1) {
      op.Fail("takes every " + std::to_string(steps[d]) + "th element of dimension " +
                  std::to_string(d),
              "steps of 1 where the values are not known from the file alone");
    }
    if (counts[d] < 1) op.Fail("takes nothing of dimension " + std::to_string(d));
  }
  const View view = Permutation(op, op.In(0));
  const Output part =
      op.views().Add("Slice", {view.held},
                     {{"begin", InHeldOrder(view, begins)}, {"size", InHeldOrder(view, counts)}});
  op.Give(HeldLike(view, part, op.views().ShapeOf(part)));
}

void GatherInput(OpReader& op, int64_t axis) {
  const Dims dims = op.Dims(0);
  axis = op.Axis(axis, static_cast<int>(dims.size()));
  const Constant& indices = Known(op, 1);
  if (indices.is_float) op.Fail("indices are of floats", "integers");
  if (op.IsConstant(0)) return FoldGather(op, 0, indices, axis);
  op.Charge(static_cast<int64_t>(indices.ints.size()));  // They are looked at, each once.
  const int64_t size = dims[At(axis)];
  const int64_t first = indices.ints.empty() ? -size - 1 : indices.ints[0];
  const int64_t begin = first < 0 ? first + size : first;
  const auto count = static_cast<int64_t>(indices.ints.size());
  bool consecutive = indices.dims.size() <= 1 && begin >= 0 && count <= size - begin;
  for (int64_t i = 0; consecutive && i < count; ++i) {
    consecutive = indices.ints[At(i)] == first + i;
  }
  if (!consecutive) {
    op.Fail("indices of shape " + DimsText(indices.dims) + " into " + DimsText(dims),
            "one index, or several in a row, within the " + std::to_string(size) + " elements");
  }
  const View view = Permutation(op, op.In(0));
  Dims begins(dims.size(), 0);
  Dims counts = dims;
  begins[At(axis)] = begin;
  counts[At(axis)] = count;
  const Output part =
      op.views().Add("Slice", {view.held},
                     {{"begin", InHeldOrder(view, begins)}, {"size", InHeldOrder(view, counts)}});
  View result = HeldLike(view, part, op.views().ShapeOf(part));
  if (indices.dims.empty()) {
    counts.erase(counts.begin() + axis);
    result = op.views().Reshape(result, Shape(counts));
  }
  op.Give(result);
}

void PadInput(OpReader& op, const Dims& pads, float value) {
  const View view = op.PaddedIn(0);
  const auto rank = At(view.shape.Rank());
  if (pads.size() != 2 * rank ||
      std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p < 0 || p > kMostWindow; })) {
    op.Fail("paddings are " + DimsText(pads) + " for shape " + view.shape.ToString(),
            "before and after each dimension, from 0 to " + std::to_string(kMostWindow));
  }
  if (std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; })) {
    return op.Give(view);
  }
  // Zeros around an image are left to the op that reads it.
  const bool first = op.views().channels_first();
  const size_t height = first ? 2 : 1;
  const bool spatial = rank == 4 && pads[0] == 0 && pads[1] == 0 && pads[first ? 2 : 6] == 0 &&
                       pads[first ? 3 : 7] == 0;
  if (spatial && value == 0 && view.IsPermutation() && view.order == ImageOrder(first) &&
      view.padding.empty()) {
    View padded = view;
    Dims sizes = view.shape.Sizes();
    for (size_t d = height; d < height + 2; ++d) {
      padded.padding.insert(padded.padding.end(), {pads[2 * d], pads[2 * d + 1]});
      sizes[d] += pads[2 * d] + pads[2 * d + 1];
    }
    padded.shape = Shape(sizes);
    return op.Give(padded);
  }
  const View source = Permutation(op, op.views().WithPadding(view));
  Dims held(2 * rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    held[2 * At(source.order[d])] = pads[2 * d];
    held[2 * At(source.order[d]) + 1] = pads[2 * d + 1];
  }
  const Output result =
      op.views().Add("Pad", {source.held}, {{"paddings", held}, {"value", value}});
  op.Give(HeldLike(source, result, op.views().ShapeOf(result)));
}

void Elementwise(OpReader& op, const std::string& name, Attributes attributes) {
  const View view = op.In(0);
  op.Give(op.views().Like(view, op.views().Add(name, {view.held}, std::move(attributes))));
}

void Clip(OpReader& op, float min, float max) {
  if (!(min <= max)) {
    op.Fail("clips to " + std::to_string(min) + " … " + std::to_string(max), "min <= max");
  }
  constexpr float kMost = std::numeric_limits<float>::max();
  if (min <= -kMost && max >= kMost) return PassOn(op);
  if (min == 0 && max == 6) return Elementwise(op, "Relu6");
  if (min == 0 && max >= kMost) return Elementwise(op, "Relu");
  Elementwise(op, "ClipByValue", {{"min", std::max(min, -kMost)}, {"max", std::min(max, kMost)}});
}

namespace {

// A constant beside a value of the graph, of which `view` has at least its rank.
Output ConstantBeside(OpReader& op, const View& view, int input) {
  const Dims& own = op.Dims(input);
  if (ElementsOf(own) == 1) {
    return op.Weight(input, {.split = {}, .order = {}, .shape = {}}, /*trainable=*/false);
  }
  const Dims dims = Padded(own, At(view.shape.Rank()));
  const Order held = Inverse(view.order);
  Dims shape;
  for (const int64_t d : held) shape.push_back(dims[At(d)]);
  return op.Weight(input, {.split = dims, .order = held, .shape = shape}, /*trainable=*/false);
}

// Whether adding this constant adds a number to each channel that is last in memory, as a bias.
bool IsBias(const View& view, const Dims& dims) {
  const Dims padded = Padded(dims, At(view.shape.Rank()));
  for (size_t d = 0; d < padded.size(); ++d) {
    const bool last = view.order[d] == view.shape.Rank() - 1;
    if (padded[d] != (last ? view.shape[static_cast<int>(d)] : 1)) return false;
  }
  return view.shape.Rank() > 0;
}

void BesideConstant(OpReader& op, const std::string& name, int constant) {
  const Dims& dims = op.Dims(constant);
  View view = op.In(1 - constant);
  if (ElementsOf(dims) != 1) view = Permutation(op, view);
  if (dims.size() > At(view.shape.Rank())) {
    view = op.views().Reshape(view, Shape(Padded(view.shape.Sizes(), dims.size())));
    view = Permutation(op, view);
  }
  Output result;
  if (name == "AddV2" && ElementsOf(dims) != 1 && IsBias(view, dims)) {
    result = op.views().Add("BiasAdd", {view.held, op.Vector(constant, ElementsOf(dims))});
  } else {
    std::vector<Output> inputs = {view.held, ConstantBeside(op, view, constant)};
    if (constant == 0) std::swap(inputs[0], inputs[1]);
    result = op.views().Add(name, inputs);
  }
  if (ElementsOf(dims) == 1) return op.Give(op.views().Like(view, result));
  op.Give(HeldLike(view, result, op.views().ShapeOf(result)));
}

}  // namespace

void BinaryElementwise(OpReader& op, const std::string& name, const std::string& folded) {
  if (op.InputCount() != 2) op.Fail(std::to_string(op.InputCount()) + " inputs", "2");
  if (op.AllConstant()) return FoldBinary(op, folded);
  if (op.IsConstant(0)) return BesideConstant(op, name, 0);
  if (op.IsConstant(1)) return BesideConstant(op, name, 1);
  View a = op.In(0);
  View b = op.In(1);
  ViewBuilder& views = op.views();
  if (a.shape == b.shape && a.held_shape == b.held_shape && a.order == b.order) {
    return op.Give(views.Like(a, views.Add(name, {a.held, b.held})));
  }
  const size_t rank = At(std::max(a.shape.Rank(), b.shape.Rank()));
  a = Permutation(op, views.Reshape(a, Shape(Padded(a.shape.Sizes(), rank))));
  b = Permutation(op, views.Reshape(b, Shape(Padded(b.shape.Sizes(), rank))));
  const View& larger = a.shape.Elements() >= b.shape.Elements() ? a : b;
  const Output result = views.Add(name, {views.Held(a, larger.order), views.Held(b, larger.order)});
  op.Give(HeldLike(larger, result, views.ShapeOf(result)));
}

void MeanOver(OpReader& op, const Dims& axes, bool keep_dims) {
  const View view = Permutation(op, op.In(0));
  Dims held;
  for (const int64_t axis : axes) held.push_back(view.order[At(axis)]);
  std::sort(held.begin(), held.end());
  const Output mean =
      op.views().Add("Mean", {view.held}, {{"axes", held}, {"keep_dims", keep_dims}});
  View result = view;
  if (!keep_dims) {
    result.order.clear();
    for (size_t d = 0; d < view.order.size(); ++d) {
      if (std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d))) continue;
      const int64_t place = view.order[d];
      result.order.push_back(place -
                             (std::lower_bound(held.begin(), held.end(), place) - held.begin()));
    }
  }
  op.Give(HeldLike(result, mean, op.views().ShapeOf(mean)));
}

// Written out, as other files have it: the optimiser makes one node of either.
void LayerNormalize(OpReader& op, int64_t axis, float epsilon) {
  const View view = Permutation(op, op.In(0));
  ViewBuilder& views = op.views();
  Dims axes(view.order.begin() + axis, view.order.end());
  std::sort(axes.begin(), axes.end());
  const auto mean = [&](Output x) {
    return views.Add("Mean", {x}, {{"axes", axes}, {"keep_dims", true}});
  };
  const auto of_file = [&](int input) {
    const Dims& dims = op.Dims(input);
    const Dims sizes(view.shape.Sizes().begin() + axis, view.shape.Sizes().end());
    if (dims != sizes) {
      op.Fail("input " + std::to_string(input) + " has shape " + DimsText(dims), DimsText(sizes));
    }
    return IsBias(view, dims) ? op.Vector(input, ElementsOf(dims))
                              : ConstantBeside(op, view, input);
  };
  const Output centred = views.Add("Sub", {view.held, mean(view.held)});
  const Output variance = mean(views.Add("Mul", {centred, centred}));
  const Output sum = views.Add("AddV2", {variance, op.Literal(Tensor::Scalar(epsilon))});
  Output result = views.Add("RealDiv", {centred, views.Add("Sqrt", {sum})});
  result = views.Add("Mul", {result, of_file(1)});
  if (op.Has(2)) {
    const bool bias = IsBias(view, op.Dims(2));
    result = views.Add(bias ? "BiasAdd" : "AddV2", {result, of_file(2)});
  }
  op.Give(views.Like(view, result));
}

void SoftmaxOver(OpReader& op, int64_t axis) {
  View view = Permutation(op, op.In(0));
  const int64_t last = view.shape.Rank() - 1;
  if (view.order[At(axis)] != last) {
    Order order = view.order;  // As it is held, but with this dimension last.
    for (int64_t& place : order) place -= place > view.order[At(axis)] ? 1 : 0;
    order[At(axis)] = last;
    const Output held = op.views().Held(view, order);
    view.order = order;
    view = HeldLike(view, held, op.views().ShapeOf(held));
  }
  op.Give(op.views().Like(view, op.views().Add("Softmax", {view.held})));
}

void LocalResponse(OpReader& op, int64_t depth_radius, float bias, float alpha, float beta) {
  const Output images = op.views().Nhwc(op.Image(0));
  op.Give(op.views().Image(op.views().Add(
      "LRN", {images},
      {{"depth_radius", depth_radius}, {"bias", bias}, {"alpha", alpha}, {"beta", beta}})));
}

}  // namespace cosched
