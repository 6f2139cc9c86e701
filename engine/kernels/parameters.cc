#include "engine/kernels/parameters.h"

#include "engine/base/check.h"

namespace cosched {

Matrix AsMatrix(const Shape& shape) {
  const int64_t channels = shape.Rank() == 0 ? 1 : shape[shape.Rank() - 1];
  return {shape.Elements() / channels, channels};
}

Reduction ReadMean(const Node& node, const Shape& input) {
  std::vector<int64_t> kept = input.Sizes();
  for (int64_t axis : GetAttribute<std::vector<int64_t>>(node, "axes"))
    kept[static_cast<size_t>(axis)] = 1;
  return {input, Shape(kept)};
}

std::optional<MiddleReduction> AsMiddle(const Reduction& reduction) {
  MiddleReduction runs;
  for (int d = 0; d < reduction.input.Rank(); ++d) {
    const int64_t size = reduction.input[d];
    const bool reduced = reduction.kept[d] != size;
    if (reduced && runs.inner > 1) return std::nullopt;
    if (reduced) {
      runs.middle *= size;
    } else {
      (runs.middle > 1 ? runs.inner : runs.outer) *= size;
    }
  }
  return runs;
}

Shape WithRank(const Shape& shape, int rank) {
  std::vector<int64_t> sizes(static_cast<size_t>(rank - shape.Rank()), 1);
  sizes.insert(sizes.end(), shape.Sizes().begin(), shape.Sizes().end());
  return Shape(sizes);
}

LocalResponseParameters ReadLocalResponse(const Node& node, const Shape& input) {
  return {AsMatrix(input), GetAttribute<int64_t>(node, "depth_radius"),
          GetAttribute<float>(node, "bias"), GetAttribute<float>(node, "alpha"),
          GetAttribute<float>(node, "beta")};
}

LayerNormParameters ReadLayerNorm(const Node& node, const Shape& input) {
  return {AsMatrix(input), GetAttribute<float>(node, "epsilon")};
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

Activation ReadActivation(const Node& node) {
  const std::string& op = GetAttribute<std::string>(node, "activation");
  if (op == "Relu") return {Activation::kRelu};
  if (op == "Relu6") return {Activation::kClip, 0, 6};
  if (op == "ClipByValue") {
    return {Activation::kClip, GetAttribute<float>(node, "min"), GetAttribute<float>(node, "max")};
  }
  if (op == "Sigmoid") return {Activation::kSigmoid};
  if (op == "HardSwish") return {Activation::kHardSwish};
  if (op == "Gelu") return {Activation::kGelu};
  CHECK(op.empty()) << node.name << ": activation " << op;
  return {};
}

}  // namespace cosched
