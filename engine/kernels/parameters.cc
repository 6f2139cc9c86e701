#include "engine/kernels/parameters.h"

#include "engine/base/check.h"

namespace cosched {

Matrix AsMatrix(const Shape& shape) {
  const int64_t channels = shape.Rank() == 0 ? 1 : shape[shape.Rank() - 1];
  return {shape.Elements() / channels, channels};
}

Reduction ReadMean(const Node& node, const Shape& input) {
  const auto& axes = GetAttribute<std::vector<int64_t>>(node, "axes");
  if (static_cast<int>(axes.size()) == input.Rank()) return {1, input.Elements(), 1};
  CHECK(input.Rank() == 4 && axes == (std::vector<int64_t>{1, 2}))
      << node.name << ": a mean is over axes {1,2} of an image, or over all";
  return {input[0], input[1] * input[2], input[3]};
}

MatMulParameters ReadMatMul(const Node& node, const Shape& a, const Shape& b) {
  const bool transpose_a = GetAttributeOr<bool>(node, "transpose_a", false);
  const bool transpose_b = GetAttributeOr<bool>(node, "transpose_b", false);
  const int64_t k = a[transpose_a ? 0 : 1];
  CHECK(k == b[transpose_b ? 1 : 0]) << node.name << ": " << a.ToString() << " x " << b.ToString();
  return {a[transpose_a ? 1 : 0], b[transpose_b ? 0 : 1], k, transpose_a, transpose_b};
}

MomentumParameters ReadMomentum(const Node& node) {
  return {GetAttribute<float>(node, "learning_rate"), GetAttribute<float>(node, "momentum"),
          GetAttribute<float>(node, "weight_decay")};
}

}  // namespace cosched
