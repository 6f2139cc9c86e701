#pragma once
// A value that is known when a model file is read: a weight, or a link in one of the chains (Shape,
// Gather, Concat, …) by which exporters work out shapes. Used by the readers only. A value.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/tensor.h"

namespace cosched {

// Row-major; sizes may be 0, as in the empty shape of a scalar.
struct Constant {
  std::vector<int64_t> dims;
  bool is_float = true;
  std::vector<int64_t> ints;  // All that is not floating-point, booleans too.
  Tensor floats;              // Empty where there are no elements.
  // The name of the variable that it becomes where an op takes it as a weight; empty for what was
  // worked out.
  std::string weight = {};
};
using ConstantPtr = std::shared_ptr<const Constant>;

// A chain works out shapes, so its integers are few; more are not worth their memory.
inline constexpr int64_t kMostIntegers = 1 << 20;

// Dimensions of any tensor of a file.
inline constexpr size_t kMostRank = 16;

// The product, or -1 if a size is negative or the product of those above 0 exceeds 2^40: so no part
// of a shape without elements exceeds it, either.
int64_t ElementsOf(const std::vector<int64_t>& dims);
std::string DimsText(const std::vector<int64_t>& dims);  // "[1,3,224,224]"

Constant IntConstant(std::vector<int64_t> dims, std::vector<int64_t> values);
// Elements of the type of `like`, all zero; dims must be valid.
Constant ZerosLike(const Constant& like, std::vector<int64_t> dims);

// The elements at offset + sum of index * stride, by dimension of the result: transposes, slices
// and broadcasts in one. REQUIRES: all of them are within the constant.
Constant Strided(const Constant& from, const std::vector<int64_t>& dims,
                 const std::vector<int64_t>& strides, int64_t offset);
std::vector<int64_t> StridesOf(const std::vector<int64_t>& dims);

// Row-major transpose: dimension i of the result is dimension order[i] of the tensor.
Tensor Transposed(const Tensor& from, const std::vector<int64_t>& order);

}  // namespace cosched
