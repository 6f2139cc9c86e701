// What files write out in elementary ops and kernels compute at once: layer norms, GELU, and
// products at each pixel of an image. By what is computed, not by how nodes are named, so exporters
// may differ in the order of operands and factors.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "engine/graph/fusion.h"
#include "engine/graph/rewriter.h"

namespace cosched {
namespace {

using Ints = std::vector<int64_t>;

bool IsConstant(GraphRewriter* graph, Output output, float value) {
  const Tensor* constant = graph->Constant(output);
  return constant != nullptr && constant->Elements() == 1 &&
         std::fabs(constant->Floats()[0] - value) <= 1e-6f * std::fabs(value);
}

// The node, if it is of this op.
const Node* Find(GraphRewriter* graph, Output output, const char* op) {
  const Node& node = graph->At(output.node);
  return output.index == 0 && node.op == op ? &node : nullptr;
}

// What such a node takes the means of the rows of.
std::optional<Output> MeanOfRows(GraphRewriter* graph, Output output) {
  const Node* mean = Find(graph, output, "Mean");
  if (mean == nullptr || !GetAttribute<bool>(*mean, "keep_dims")) return std::nullopt;
  const int64_t last = graph->Info(mean->inputs[0]).shape.Rank() - 1;
  if (last < 1 || GetAttribute<Ints>(*mean, "axes") != Ints{last}) return std::nullopt;
  return mean->inputs[0];
}

struct LayerNorm {
  Output x;
  float epsilon = 0;
};

// (x - mean) / sqrt(mean of (x - mean)^2 + epsilon), each mean over the last dimension.
std::optional<LayerNorm> ReadLayerNorm(GraphRewriter* graph, const Node& quotient) {
  if (quotient.op != "RealDiv") return std::nullopt;
  const Output centred = quotient.inputs[0];
  const Node* difference = Find(graph, centred, "Sub");
  const Node* deviation = Find(graph, quotient.inputs[1], "Sqrt");
  if (difference == nullptr || deviation == nullptr) return std::nullopt;
  if (MeanOfRows(graph, difference->inputs[1]) != difference->inputs[0]) return std::nullopt;
  const Node* sum = Find(graph, deviation->inputs[0], "AddV2");
  if (sum == nullptr) return std::nullopt;
  for (size_t side : {size_t{0}, size_t{1}}) {
    const Tensor* epsilon = graph->Constant(sum->inputs[1 - side]);
    const std::optional<Output> squares = MeanOfRows(graph, sum->inputs[side]);
    if (epsilon == nullptr || epsilon->Elements() != 1 || !squares) continue;
    const Node* square = Find(graph, *squares, "Mul");
    if (square == nullptr || square->inputs != std::vector<Output>{centred, centred}) continue;
    return LayerNorm{difference->inputs[0], epsilon->Floats()[0]};
  }
  return std::nullopt;
}

// The layer norm `from` with these parameters takes the place of `id`, which computes it.
void BecomeLayerNorm(GraphRewriter* graph, NodeId id, Output x, Output scale, Output offset,
                     float epsilon) {
  graph->Become(id, "_FusedLayerNorm", {x, scale, offset}, {{"epsilon", epsilon}});
}

// The other operand, where one of two is `value` and the other a constant number by channel.
std::optional<Output> VectorBeside(GraphRewriter* graph, const Node& node, Output value) {
  if (node.inputs.size() != 2) return std::nullopt;
  const Output other = node.inputs[node.inputs[0] == value ? 1 : 0];
  const Tensor* constant = graph->Constant(other);
  if (constant == nullptr || node.outputs[0].shape != graph->Info(value).shape) return std::nullopt;
  const Shape& shape = constant->GetShape();
  const int64_t channels = node.outputs[0].shape[node.outputs[0].shape.Rank() - 1];
  if (constant->Elements() != channels || shape.Rank() == 0 || shape[shape.Rank() - 1] != channels)
    return std::nullopt;
  if (shape.Rank() == 1) return other;
  return graph->AddConstant(graph->At(other.node).name + "/vector",
                            constant->Reshaped(Shape{channels}));
}

// Scale and offset by channel that the norm is followed by become its own.
void TakeParameters(GraphRewriter* graph, NodeId id, const LayerNorm& norm) {
  Output scale = graph->At(id).inputs[1], offset = graph->At(id).inputs[2];
  for (const bool scales : {true, false}) {
    if (!graph->HasOneUse(id)) return;
    const Node& user = graph->User(id);
    const NodeId next = user.id;
    const bool fits = scales ? user.op == "Mul" : user.op == "BiasAdd" || user.op == "AddV2";
    if (!fits) continue;
    const std::optional<Output> vector = VectorBeside(graph, user, {id, 0});
    if (!vector) return;
    (scales ? scale : offset) = *vector;
    BecomeLayerNorm(graph, next, norm.x, scale, offset, norm.epsilon);
    id = next;
  }
}

// What the product is of; a product within it that nobody else reads is taken apart.
std::vector<Output> FactorsOf(GraphRewriter* graph, const Node& product) {
  std::vector<Output> factors;
  for (const Output& input : product.inputs) {
    const Node* inner = Find(graph, input, "Mul");
    if (inner != nullptr && graph->HasOneUse(inner->id)) {
      factors.insert(factors.end(), inner->inputs.begin(), inner->inputs.end());
    } else {
      factors.push_back(input);
    }
  }
  return factors;
}

// x, if the output is 1 + erf(x / sqrt(2)).
std::optional<Output> ReadTwiceTheShareBelow(GraphRewriter* graph, Output output) {
  const Node* sum = Find(graph, output, "AddV2");
  if (sum == nullptr) return std::nullopt;
  const Output* value = IsConstant(graph, sum->inputs[1], 1)   ? &sum->inputs[0]
                        : IsConstant(graph, sum->inputs[0], 1) ? &sum->inputs[1]
                                                               : nullptr;
  const Node* erf = value == nullptr ? nullptr : Find(graph, *value, "Erf");
  if (erf == nullptr) return std::nullopt;
  const Node& scaled = graph->At(erf->inputs[0].node);
  constexpr float kRoot = std::numbers::sqrt2_v<float>;
  if (scaled.op == "RealDiv" && IsConstant(graph, scaled.inputs[1], kRoot)) return scaled.inputs[0];
  if (scaled.op != "Mul") return std::nullopt;
  for (size_t side : {size_t{0}, size_t{1}}) {
    if (IsConstant(graph, scaled.inputs[1 - side], 1 / kRoot)) return scaled.inputs[side];
  }
  return std::nullopt;
}

// x, if the node is x * (1 + erf(x / sqrt(2))) / 2, its factors in any order.
std::optional<Output> ReadGelu(GraphRewriter* graph, const Node& node) {
  if (node.op != "Mul") return std::nullopt;
  const std::vector<Output> factors = FactorsOf(graph, node);
  if (factors.size() != 3) return std::nullopt;
  for (const Output& factor : factors) {
    const std::optional<Output> x = ReadTwiceTheShareBelow(graph, factor);
    if (!x) continue;
    const auto is_half = [&](Output other) { return IsConstant(graph, other, 0.5f); };
    const bool has_x = std::find(factors.begin(), factors.end(), *x) != factors.end();
    if (has_x && std::any_of(factors.begin(), factors.end(), is_half)) return x;
  }
  return std::nullopt;
}

// [K,N], whichever way it is stored.
Tensor Plain(const Tensor& weights, bool transposed) {
  if (!transposed) return weights;
  const int64_t rows = weights.GetShape()[1], columns = weights.GetShape()[0];
  Tensor plain(Shape{rows, columns});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      plain.Floats()[row * columns + column] = weights.Floats()[column * rows + row];
  return plain;
}

}  // namespace

void FuseLayerNorms(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    const std::optional<LayerNorm> norm = ReadLayerNorm(graph, graph->At(id));
    if (!norm) continue;
    const std::string name = graph->At(id).name;
    const int64_t channels = graph->Info({id, 0}).shape.Sizes().back();
    const auto filled = [&](const char* what, float value) {
      Tensor tensor(Shape{channels});
      std::fill_n(tensor.Floats(), channels, value);
      return graph->AddConstant(name + what, std::move(tensor));
    };
    const Output scale = filled("/scale", 1), offset = filled("/offset", 0);
    BecomeLayerNorm(graph, id, norm->x, scale, offset, norm->epsilon);
    TakeParameters(graph, id, *norm);
  }
}

void FuseGelus(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    if (const std::optional<Output> x = ReadGelu(graph, graph->At(id)))
      graph->Become(id, "Gelu", {*x}, {});
  }
}

void ConvolvePixels(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    const Node& image = graph->At(id);
    if (image.op != "Reshape" || image.outputs[0].shape.Rank() != 4) continue;
    const Node* product = Find(graph, image.inputs[0], "MatMul");
    if (product == nullptr || !graph->HasOneUse(product->id)) continue;
    if (GetAttribute<bool>(*product, "transpose_a")) continue;
    const Node* rows = Find(graph, product->inputs[0], "Reshape");
    const Tensor* weights = graph->Constant(product->inputs[1]);
    if (rows == nullptr || weights == nullptr) continue;
    const Output pixels = rows->inputs[0];
    const Ints from = graph->Info(pixels).shape.Sizes(), to = image.outputs[0].shape.Sizes();
    if (from.size() != 4 || !std::equal(from.begin(), from.end() - 1, to.begin())) continue;
    const int64_t channels = graph->Info(product->inputs[0]).shape[1];
    const int64_t filters = product->outputs[0].shape[1];
    if (from.back() != channels || to.back() != filters) continue;
    const Tensor plain = Plain(*weights, GetAttribute<bool>(*product, "transpose_b"));
    const Output filter = graph->AddConstant(graph->At(product->inputs[1].node).name + "/filter",
                                             plain.Reshaped({1, 1, channels, filters}));
    graph->Become(id, "Conv2D", {pixels, filter},
                  {{"strides", Ints{1, 1}},
                   {"padding", std::string("VALID")},
                   {"explicit_paddings", Ints{}},
                   {"dilations", Ints{1, 1}}});
  }
}

}  // namespace cosched
