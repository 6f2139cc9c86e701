#include "engine/graph/readers/fold.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace cosched {
namespace {

using Dims = std::vector<int64_t>;

size_t At(int64_t i) { return static_cast<size_t>(i); }

// Checks that a constant of this shape may be made, and charges it.
void ChargeFor(OpReader& op, const Dims& dims, bool is_float) {
  const int64_t elements = ElementsOf(dims);
  if (elements < 0)
    op.Fail("its result would have shape " + DimsText(dims), "at most 2^40 elements");
  if (!is_float && elements > kMostIntegers) {
    op.Fail("its result would be " + std::to_string(elements) + " integers",
            std::to_string(kMostIntegers) + " at most");
  }
  op.Charge(elements * (is_float ? 4 : 8));
}

// A new constant may train in place of the weight that it was made of.
Constant Renamed(Constant constant, const OpReader& op, const Constant& from) {
  if (!from.weight.empty() && !op.node().outputs.empty()) {
    constant.weight = op.node().outputs[0];
  }
  return constant;
}

Dims BroadcastDims(const OpReader& op, const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      op.Fail("shapes " + DimsText(a) + " and " + DimsText(b) + " do not fit",
              "dimensions, from the last on, that are equal or 1 in one of them");
    }
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

// REQUIRES: from's shape broadcasts to dims.
Constant Broadcast(const Constant& from, const Dims& dims) {
  const Dims own = StridesOf(from.dims);
  Dims strides(dims.size(), 0);
  const size_t lead = dims.size() - from.dims.size();
  for (size_t i = 0; i < from.dims.size(); ++i) {
    if (from.dims[i] != 1) strides[lead + i] = own[i];
  }
  return Strided(from, dims, strides, 0);
}

// Two's complement, as the machine does it: a hostile file may overflow.
int64_t Wrapped(uint64_t value) { return static_cast<int64_t>(value); }

std::optional<int64_t> Apply(std::string_view name, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  if (name == "Add") return Wrapped(x + y);
  if (name == "Sub") return Wrapped(x - y);
  if (name == "Mul") return Wrapped(x * y);
  if (name == "Div" || name == "Mod") {
    if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) return std::nullopt;
    return name == "Div" ? a / b : a % b;
  }
  if (name == "Min") return std::min(a, b);
  if (name == "Max") return std::max(a, b);
  if (name == "Equal") return a == b;
  if (name == "Less") return a < b;
  if (name == "Greater") return a > b;
  return std::nullopt;
}

std::optional<float> Apply(std::string_view name, float a, float b) {
  if (name == "Add") return a + b;
  if (name == "Sub") return a - b;
  if (name == "Mul") return a * b;
  if (name == "Div") return a / b;
  if (name == "Min") return std::min(a, b);
  if (name == "Max") return std::max(a, b);
  if (name == "Pow") return std::pow(a, b);
  return std::nullopt;
}

template <typename T>
void ApplyAll(const OpReader& op, std::string_view name, const T* a, const T* b, T* result,
              int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) {
    const std::optional<T> value = Apply(name, a[i], b[i]);
    if (!value) {
      op.Fail("can't be worked out for " + std::to_string(a[i]) + " and " + std::to_string(b[i]),
              "Add, Sub, Mul, Div, Min, Max and comparisons of constants");
    }
    result[i] = *value;
  }
}

}  // namespace

const Constant& Known(const OpReader& op, int input) {
  const Constant& constant = op.ConstantAt(input, "constant");
  if (constant.is_float && constant.floats.IsEmpty() && ElementsOf(constant.dims) > 0) {
    op.Fail("the first build needed \"" + constant.weight + "\" in another layout");
  }
  return constant;
}

void FoldReshape(OpReader& op, int input, const Dims& dims) {
  Constant result = Known(op, input);
  if (ElementsOf(dims) != ElementsOf(result.dims)) {
    op.Fail("cannot reshape " + DimsText(result.dims) + " to " + DimsText(dims));
  }
  if (!result.is_float) op.Charge(static_cast<int64_t>(8 * result.ints.size()));
  if (!result.floats.IsEmpty()) result.floats = result.floats.Reshaped(Shape(dims));
  result.dims = dims;
  op.Give(Renamed(std::move(result), op, Known(op, input)));
}

void FoldTranspose(OpReader& op, int input, const Dims& order) {
  const Constant& from = Known(op, input);
  const Dims own = StridesOf(from.dims);
  Dims dims, strides;
  for (const int64_t d : order) {
    dims.push_back(from.dims[At(d)]);
    strides.push_back(own[At(d)]);
  }
  ChargeFor(op, dims, from.is_float);
  op.Give(Renamed(Strided(from, dims, strides, 0), op, from));
}

void FoldSlice(OpReader& op, int input, const Dims& begins, const Dims& steps, const Dims& counts) {
  const Constant& from = Known(op, input);
  Dims strides = StridesOf(from.dims);
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (counts[d] > 0) offset += begins[d] * strides[d];
    // A dimension of one element takes no step, which might be of any length.
    strides[d] = counts[d] > 1 ? strides[d] * steps[d] : 0;
  }
  ChargeFor(op, counts, from.is_float);
  op.Give(Strided(from, counts, strides, offset));
}

void FoldConcat(OpReader& op, int count, int64_t axis) {
  const Constant& first = Known(op, 0);
  Dims dims = first.dims;
  dims[At(axis)] = 0;
  for (int i = 0; i < count; ++i) {
    const Constant& part = Known(op, i);
    Dims other = part.dims;
    if (other.size() == dims.size()) other[At(axis)] = dims[At(axis)];
    if (other != dims || part.is_float != first.is_float) {
      op.Fail("input " + std::to_string(i) + " has shape " + DimsText(part.dims) + ", input 0 " +
                  DimsText(first.dims),
              "shapes of one kind that differ in dimension " + std::to_string(axis) + " alone");
    }
    dims[At(axis)] += part.dims[At(axis)];
  }
  ChargeFor(op, dims, first.is_float);
  Constant result = ZerosLike(first, dims);
  int64_t outer = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= dims[At(d)];
  const int64_t elements = ElementsOf(dims);
  const int64_t row = outer == 0 ? 0 : elements / outer;
  int64_t begin = 0;
  for (int i = 0; i < count && elements > 0; ++i) {
    const Constant& part = Known(op, i);
    const int64_t length = ElementsOf(part.dims) / outer;
    for (int64_t block = 0; block < outer && length > 0; ++block) {
      const int64_t to = block * row + begin;
      if (part.is_float) {
        std::copy_n(part.floats.Floats() + block * length, length, result.floats.Floats() + to);
      } else {
        std::copy_n(part.ints.data() + block * length, length, result.ints.data() + to);
      }
    }
    begin += length;
  }
  op.Give(std::move(result));
}

void FoldGather(OpReader& op, int input, const Constant& indices, int64_t axis) {
  const Constant& from = Known(op, input);
  const auto at = from.dims.begin() + axis;
  Dims dims(from.dims.begin(), at);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), at + 1, from.dims.end());
  ChargeFor(op, dims, from.is_float);
  op.Charge(static_cast<int64_t>(indices.ints.size()));  // They are looked at, each once.
  Constant result = ZerosLike(from, dims);
  const int64_t size = *at;
  const int64_t outer = ElementsOf(Dims(from.dims.begin(), at));
  const int64_t inner = ElementsOf(Dims(at + 1, from.dims.end()));
  int64_t to = 0;
  // Without elements there may be any number of blocks; one shows whether the indices are good.
  const int64_t blocks = ElementsOf(dims) > 0 ? outer : std::min<int64_t>(outer, 1);
  for (int64_t block = 0; block < blocks; ++block) {
    for (const int64_t index : indices.ints) {
      if (index < -size || index >= size) {
        op.Fail("index " + std::to_string(index) + " of " + std::to_string(size) + " elements");
      }
      const int64_t begin = (block * size + (index < 0 ? index + size : index)) * inner;
      if (inner == 0) continue;
      if (from.is_float) {
        std::copy_n(from.floats.Floats() + begin, inner, result.floats.Floats() + to);
      } else {
        std::copy_n(from.ints.data() + begin, inner, result.ints.data() + to);
      }
      to += inner;
    }
  }
  op.Give(std::move(result));
}

void FoldExpand(OpReader& op, int input, const Dims& dims) {
  const Constant& from = Known(op, input);
  const Dims wanted = BroadcastDims(op, from.dims, dims);
  ChargeFor(op, wanted, from.is_float);
  op.Give(Broadcast(from, wanted));
}

void FoldFill(OpReader& op, const Dims& dims, const Constant& value) {
  ChargeFor(op, dims, value.is_float);
  Constant result = ZerosLike(value, dims);
  if (value.is_float && !result.floats.IsEmpty()) {
    std::fill_n(result.floats.Floats(), result.floats.Elements(), value.floats.Floats()[0]);
  }
  if (!value.is_float) std::fill(result.ints.begin(), result.ints.end(), value.ints[0]);
  op.Give(std::move(result));
}

void FoldBinary(OpReader& op, std::string_view name) {
  const Constant& a = Known(op, 0);
  const Constant& b = Known(op, 1);
  if (a.is_float != b.is_float) op.Fail("one input is of floats, the other of integers");
  const Dims dims = BroadcastDims(op, a.dims, b.dims);
  ChargeFor(op, dims, a.is_float);
  ChargeFor(op, dims, a.is_float);
  const Constant x = Broadcast(a, dims);
  const Constant y = Broadcast(b, dims);
  Constant result = ZerosLike(a, dims);
  const int64_t elements = ElementsOf(dims);
  if (!a.is_float) {
    ApplyAll(op, name, x.ints.data(), y.ints.data(), result.ints.data(), elements);
  } else if (elements > 0) {
    ApplyAll(op, name, x.floats.Floats(), y.floats.Floats(), result.floats.Floats(), elements);
  }
  op.Give(std::move(result));
}

void FoldUnary(OpReader& op, std::string_view name) {
  static const std::map<std::string_view, float (*)(float)> kFunctions = {
      {"Neg", [](float x) { return -x; }},
      {"Abs", [](float x) { return std::fabs(x); }},
      {"Sqrt", [](float x) { return std::sqrt(x); }},
      {"Rsqrt", [](float x) { return 1 / std::sqrt(x); }},
      {"Floor", [](float x) { return std::floor(x); }},
      {"Ceil", [](float x) { return std::ceil(x); }},
      {"Exp", [](float x) { return std::exp(x); }}};
  const Constant& from = Known(op, 0);
  ChargeFor(op, from.dims, from.is_float);
  Constant result = ZerosLike(from, from.dims);
  if (from.is_float) {
    const auto function = kFunctions.at(name);
    for (int64_t i = 0; i < ElementsOf(from.dims); ++i) {
      result.floats.Floats()[i] = function(from.floats.Floats()[i]);
    }
  } else {
    if (name != "Neg" && name != "Abs") op.Fail("its input is of integers", "floats");
    for (size_t i = 0; i < from.ints.size(); ++i) {
      const bool keep = name == "Abs" && from.ints[i] >= 0;
      result.ints[i] =
          keep ? from.ints[i] : Wrapped(uint64_t{0} - static_cast<uint64_t>(from.ints[i]));
    }
  }
  op.Give(std::move(result));
}

void FoldCast(OpReader& op, int input, bool to_float) {
  const Constant& from = Known(op, input);
  if (from.is_float == to_float) return op.Give(op.Value(input));
  ChargeFor(op, from.dims, to_float);
  Constant like = {.dims = {}, .is_float = to_float, .ints = {}, .floats = {}};
  Constant result = ZerosLike(like, from.dims);
  for (int64_t i = 0; i < ElementsOf(from.dims); ++i) {
    if (to_float) {
      result.floats.Floats()[i] = static_cast<float>(from.ints[At(i)]);
      continue;
    }
    const float value = from.floats.Floats()[i];
    if (!(value > -9e18f && value < 9e18f)) {
      op.Fail("casts " + std::to_string(value) + " to an integer");
    }
    result.ints[At(i)] = static_cast<int64_t>(value);
  }
  op.Give(std::move(result));
}

}  // namespace cosched
