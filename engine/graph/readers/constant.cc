#include "engine/graph/readers/constant.h"

#include <algorithm>
#include <utility>

namespace cosched {
namespace {

// Calls visit(first) for each row of the innermost dimension, in the result's order.
template <typename Visit>
void ForEachRow(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                int64_t offset, Visit visit) {
  const size_t outer = dims.empty() ? 0 : dims.size() - 1;
  std::vector<int64_t> index(outer, 0);
  while (true) {
    visit(offset);
    size_t d = outer;
    while (d > 0) {
      --d;
      offset += strides[d];
      if (++index[d] < dims[d]) break;
      offset -= strides[d] * dims[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (outer == 0) return;
  }
}

template <typename T>
void CopyStrided(const T* from, T* to, const std::vector<int64_t>& dims,
                 const std::vector<int64_t>& strides, int64_t offset) {
  const int64_t row = dims.empty() ? 1 : dims.back();
  const int64_t step = dims.empty() ? 0 : strides.back();
  ForEachRow(dims, strides, offset, [&](int64_t first) {
    for (int64_t i = 0; i < row; ++i) *to++ = from[first + i * step];
  });
}

}  // namespace

int64_t ElementsOf(const std::vector<int64_t>& dims) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t elements = 1;
  bool empty = false;
  for (const int64_t size : dims) {
    if (size < 0 || (size > 0 && elements > kMost / size)) return -1;
    if (size > 0) elements *= size;
    empty = empty || size == 0;
  }
  return empty ? 0 : elements;
}

std::string DimsText(const std::vector<int64_t>& dims) { return Shape(dims).ToString(); }

Constant IntConstant(std::vector<int64_t> dims, std::vector<int64_t> values) {
  return {.dims = std::move(dims), .is_float = false, .ints = std::move(values), .floats = {}};
}

Constant ZerosLike(const Constant& like, std::vector<int64_t> dims) {
  const int64_t elements = ElementsOf(dims);
  Constant result = {.dims = dims, .is_float = like.is_float, .ints = {}, .floats = {}};
  if (!like.is_float) {
    result.ints.assign(static_cast<size_t>(elements), 0);
  } else if (elements > 0) {
    result.floats = Tensor(Shape(std::move(dims)));
    std::fill_n(result.floats.Floats(), elements, 0.0f);
  }
  return result;
}

std::vector<int64_t> StridesOf(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
  return strides;
}

Constant Strided(const Constant& from, const std::vector<int64_t>& dims,
                 const std::vector<int64_t>& strides, int64_t offset) {
  Constant result = ZerosLike(from, dims);
  if (ElementsOf(dims) == 0) return result;
  if (from.is_float) {
    CopyStrided(from.floats.Floats(), result.floats.Floats(), dims, strides, offset);
  } else {
    CopyStrided(from.ints.data(), result.ints.data(), dims, strides, offset);
  }
  return result;
}

Tensor Transposed(const Tensor& from, const std::vector<int64_t>& order) {
  const std::vector<int64_t> strides = StridesOf(from.GetShape().Sizes());
  std::vector<int64_t> dims;
  std::vector<int64_t> steps;
  for (const int64_t d : order) {
    dims.push_back(from.GetShape()[static_cast<int>(d)]);
    steps.push_back(strides[static_cast<size_t>(d)]);
  }
  Tensor result{Shape(dims)};
  CopyStrided(from.Floats(), result.Floats(), dims, steps, 0);
  return result;
}

}  // namespace cosched
