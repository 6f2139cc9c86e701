#include "engine/graph/readers/view.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

size_t At(int64_t i) { return static_cast<size_t>(i); }

// The sizes without those of 1, which have no place in memory.
std::vector<int64_t> Squeezed(const Shape& shape) {
  std::vector<int64_t> sizes;
  for (const int64_t size : shape.Sizes()) {
    if (size != 1) sizes.push_back(size);
  }
  return sizes;
}

// Whether reading the dimensions of `shape` in this order leaves the elements where they are.
bool KeepsElements(const Shape& shape, const Order& order) {
  int64_t last = -1;
  for (const int64_t d : order) {
    if (shape[static_cast<int>(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

Shape Permute(const Shape& shape, const Order& order) {
  std::vector<int64_t> sizes;
  for (const int64_t d : order) sizes.push_back(shape[static_cast<int>(d)]);
  return Shape(std::move(sizes));
}

}  // namespace

Shape View::Permuted() const { return Permute(held_shape, order); }

Order Identity(int rank) {
  Order order(At(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Order Inverse(const Order& order) {
  Order inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[At(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

Order ImageOrder(bool channels_first) {
  return channels_first ? Order{0, 3, 1, 2} : Order{0, 1, 2, 3};
}

void ViewBuilder::SetScope(const std::string& name) { scope_ = name; }

Output ViewBuilder::Add(const std::string& op, std::vector<Output> inputs, Attributes attributes) {
  const GraphBuilder::Scope scope(builder_, scope_);
  return {builder_->AddNode(op, std::move(inputs), std::move(attributes))};
}

Output ViewBuilder::Const(Tensor value) { return Add("Const", {}, {{"value", std::move(value)}}); }

View ViewBuilder::Plain(Output held) const {
  const Shape& shape = ShapeOf(held);
  return {.held = held, .held_shape = shape, .order = Identity(shape.Rank()), .shape = shape};
}

View ViewBuilder::Image(Output nhwc) const {
  const Shape& shape = ShapeOf(nhwc);
  const Order order = ImageOrder(channels_first_);
  return {.held = nhwc, .held_shape = shape, .order = order, .shape = Permute(shape, order)};
}

View ViewBuilder::Like(const View& view, Output held) const {
  CHECK(ShapeOf(held) == view.held_shape) << "an op was to keep its input's shape";
  View result = view;
  result.held = held;
  return result;
}

Output ViewBuilder::ReshapeTo(Output x, const Shape& shape) {
  return ShapeOf(x) == shape ? x : Add("Reshape", {x}, {{"shape", shape.Sizes()}});
}

Output ViewBuilder::Held(const View& view, const Order& order) {
  const auto key = std::tuple(view.held, view.order, view.shape.Sizes(), order);
  const auto known = held_.find(key);
  if (known != held_.end()) return known->second;
  Output result;
  if (view.IsPermutation()) {
    result = HeldPermutation(view, order);
  } else {
    View first = view;
    first.shape = view.Permuted();
    const Output plain = HeldPermutation(first, Identity(first.shape.Rank()));
    result = HeldPermutation(Plain(ReshapeTo(plain, view.shape)), order);
  }
  held_[key] = result;
  return result;
}

Output ViewBuilder::HeldPermutation(const View& view, const Order& order) {
  Order moves(order.size());  // By dimension of the result: the one that is held.
  for (size_t i = 0; i < order.size(); ++i) moves[At(order[i])] = view.order[i];
  if (KeepsElements(view.held_shape, moves)) {
    return ReshapeTo(view.held, Permute(view.held_shape, moves));
  }
  return Add("Transpose", {view.held}, {{"perm", moves}});
}

// Where only sizes of 1 come and go, nothing moves: an image stays one in NHWC, [N,C] becomes one.
// Otherwise elements that are held in the file's order are reshaped at once, others when an op
// needs them (MatMul permutes its weights instead).
View ViewBuilder::Reshape(const View& view, const Shape& shape) {
  if (view.shape == shape) return view;
  if (view.IsPermutation() && Squeezed(view.shape) == Squeezed(shape)) {
    View result = {.held = {}, .held_shape = {}, .order = {}, .shape = shape};
    // The places of the file's dimensions above 1, in memory order, for those of the new shape.
    std::vector<int64_t> places;
    for (int d = 0; d < view.shape.Rank(); ++d) {
      if (view.shape[d] != 1) places.push_back(view.order[At(d)]);
    }
    const Order image = ImageOrder(channels_first_);
    if (shape.Rank() == 4) {
      std::vector<int64_t> wanted;
      for (int d = 0; d < 4; ++d) {
        if (shape[d] != 1) wanted.push_back(image[At(d)]);
      }
      bool fits = true;
      for (size_t i = 0; i + 1 < places.size(); ++i) {
        for (size_t j = i + 1; j < places.size(); ++j) {
          fits = fits && (places[i] < places[j]) == (wanted[i] < wanted[j]);
        }
      }
      if (fits) result.order = image;
    }
    if (result.order.empty()) {
      // Sizes of 1 first, then the others as they lie.
      result.order.assign(At(shape.Rank()), 0);
      std::vector<int64_t> sorted = places;
      std::sort(sorted.begin(), sorted.end());
      const auto ones = static_cast<int64_t>(At(shape.Rank()) - places.size());
      int64_t next_one = 0;
      size_t next = 0;
      for (int d = 0; d < shape.Rank(); ++d) {
        const bool one = shape[d] == 1;
        const auto rank_of = [&] {
          return ones +
                 (std::lower_bound(sorted.begin(), sorted.end(), places[next]) - sorted.begin());
        };
        result.order[At(d)] = one ? next_one++ : rank_of();
        next += one ? 0 : 1;
      }
    }
    result.held_shape = Permute(shape, Inverse(result.order));
    result.held = ReshapeTo(view.held, result.held_shape);
    return result;
  }
  if (view.IsPermutation() && KeepsElements(view.held_shape, view.order)) {
    return Plain(ReshapeTo(view.held, shape));
  }
  View result = view;
  result.shape = shape;
  return result;
}

View ViewBuilder::Transpose(const View& view, const Order& order) {
  const View source = view.IsPermutation() ? view : Plain(Plainly(view));
  View result = source;
  result.shape = Permute(source.shape, order);
  for (size_t i = 0; i < order.size(); ++i) result.order[i] = source.order[At(order[i])];
  return result;
}

View ViewBuilder::WithPadding(const View& view) {
  if (view.padding.empty()) return view;
  const std::vector<int64_t>& p = view.padding;
  return Image(Add("Pad", {view.held},
                   {{"paddings", std::vector<int64_t>{0, 0, p[0], p[1], p[2], p[3], 0, 0}}}));
}

}  // namespace cosched
