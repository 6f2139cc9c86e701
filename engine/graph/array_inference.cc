// Shapes of ops that move, join or reduce elements, whatever these stand for.

#include <algorithm>

#include "engine/graph/shape_inference.h"

namespace cosched::infer {
namespace {

constexpr int kMaxRank = 6;  // The rank of what ops with a loop for each dimension take.

std::string Text(const std::vector<int64_t>& values) { return Shape(values).ToString(); }

// The first input's sizes.
const std::vector<int64_t>& Sizes(const Inference& node) {
  const Shape& shape = node.In(0);
  if (shape.Rank() > kMaxRank)
    node.Fail("input 0 has shape " + shape.ToString(), "at most 6 dimensions");
  return shape.Sizes();
}

[[noreturn]] void FailFor(const Inference& node, const std::string& attribute,
                          const std::string& allowed) {
  node.Fail(attribute + " is " + Text(node.Ints(attribute)) + " for shape " + node.In(0).ToString(),
            allowed);
}

Shape MeanOutput(const Inference& node, const Shape& shape) {
  const std::vector<int64_t>& axes = node.Ints("axes");
  const bool keep = node.Bool("keep_dims");
  std::vector<bool> reduced(static_cast<size_t>(shape.Rank()), false);
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= shape.Rank() || reduced[static_cast<size_t>(axis)]) {
      node.Fail("axes are " + Text(axes) + " for shape " + shape.ToString(),
                "dimensions from 0 on, each once");
    }
    reduced[static_cast<size_t>(axis)] = true;
  }
  std::vector<int64_t> kept;
  for (int i = 0; i < shape.Rank(); ++i) {
    const bool is_reduced = reduced[static_cast<size_t>(i)];
    if (!is_reduced || keep) kept.push_back(is_reduced ? 1 : shape[i]);
  }
  return Shape(kept);
}

}  // namespace

Outputs Reshape(const Inference& node) {
  std::vector<int64_t> sizes = node.Ints("shape");
  const std::string wanted = Text(sizes);
  const int64_t elements = node.In(0).Elements();
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (open != sizes.end()) {
    *open = 1;
    const int64_t known = Shape(sizes).Elements();
    if (known > 0) *open = elements / known;
  }
  const bool fits = std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s > 0; }) &&
                    Shape(sizes).Elements() == elements;
  if (!fits) {
    node.Fail("cannot reshape " + node.In(0).ToString() + " to " + wanted,
              std::to_string(elements) + " elements, at most one size -1");
  }
  return {{Shape(sizes), node.Info(0).type}};
}

Outputs Concat(const Inference& node) {
  const int64_t axis = node.Int("axis");
  std::vector<int64_t> sizes = Sizes(node);
  if (axis < 0 || axis >= node.In(0).Rank()) {
    node.Fail("axis is " + std::to_string(axis) + " for shape " + node.In(0).ToString(),
              "a dimension from 0 on");
  }
  int64_t& joined = sizes[static_cast<size_t>(axis)];
  for (int input = 1; input < node.Inputs(); ++input) {
    std::vector<int64_t> other = node.In(input).Sizes();
    const bool same_rank = other.size() == sizes.size();
    const int64_t size = same_rank ? other[static_cast<size_t>(axis)] : 0;
    if (same_rank) other[static_cast<size_t>(axis)] = joined;
    if (other != sizes) {
      node.Fail("input " + std::to_string(input) + " has shape " + node.In(input).ToString() +
                    ", input 0 " + node.In(0).ToString(),
                "shapes that differ in dimension " + std::to_string(axis) + " alone");
    }
    joined += size;
  }
  return {{Shape(sizes)}};
}

Outputs Slice(const Inference& node) {
  const std::vector<int64_t>&sizes = Sizes(node), &begin = node.Ints("begin"),
        &size = node.Ints("size");
  bool fits = begin.size() == sizes.size() && size.size() == sizes.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = begin[i] >= 0 && begin[i] < sizes[i] && size[i] >= 1 && size[i] <= sizes[i] - begin[i];
  }
  if (!fits) {
    node.Fail("begin is " + Text(begin) + ", size " + Text(size) + " for shape " + Text(sizes),
              "a part of every dimension, of one element or more");
  }
  return {{Shape(size)}};
}

Outputs Pad(const Inference& node) {
  std::vector<int64_t> sizes = Sizes(node);
  const std::vector<int64_t>& paddings = node.Ints("paddings");
  const bool fits = paddings.size() == 2 * sizes.size() &&
                    std::all_of(paddings.begin(), paddings.end(), [](int64_t padding) {
                      return padding >= 0 && padding <= kMaxElements;
                    });
  if (!fits) FailFor(node, "paddings", "{before, after} of every dimension, none below 0");
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] += paddings[2 * i] + paddings[2 * i + 1];
  return {{Shape(sizes)}};
}

Outputs Transpose(const Inference& node) {
  const std::vector<int64_t>&sizes = Sizes(node), &perm = node.Ints("perm");
  std::vector<int64_t> sorted = perm, result;
  std::sort(sorted.begin(), sorted.end());
  bool fits = perm.size() == sizes.size();
  for (size_t i = 0; fits && i < sorted.size(); ++i) fits = sorted[i] == static_cast<int64_t>(i);
  if (!fits) FailFor(node, "perm", "every dimension from 0 on, once");
  for (int64_t dimension : perm) result.push_back(sizes[static_cast<size_t>(dimension)]);
  return {{Shape(result)}};
}

Outputs Broadcast(const Inference& node) {
  Sizes(node);
  const Shape &a = node.In(0), &b = node.In(1);
  const int rank = std::max(a.Rank(), b.Rank());
  std::vector<int64_t> sizes;
  bool fits = rank <= kMaxRank;
  for (int i = 0; i < rank; ++i) {  // Dimensions are aligned at the last one.
    const int in_a = i - (rank - a.Rank()), in_b = i - (rank - b.Rank());
    const int64_t of_a = in_a < 0 ? 1 : a[in_a], of_b = in_b < 0 ? 1 : b[in_b];
    fits = fits && (of_a == of_b || of_a == 1 || of_b == 1);
    sizes.push_back(std::max(of_a, of_b));
  }
  if (!fits) {
    node.Fail("inputs have shapes " + a.ToString() + " and " + b.ToString(),
              "dimensions, from the last on, that are equal or 1 in one of them");
  }
  return {{Shape(sizes)}};
}

Outputs Mean(const Inference& node) { return {{MeanOutput(node, node.In(0))}}; }

Outputs MeanGrad(const Inference& node) {
  const Shape input = node.ShapeOf("input_shape");
  node.RequireShape(0, MeanOutput(node, input));
  return {{input}};
}

}  // namespace cosched::infer
