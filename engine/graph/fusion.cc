#include "engine/graph/fusion.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/graph/rewriter.h"

namespace cosched {
namespace {

using Attributes = std::map<std::string, Attribute>;

bool IsLinear(const Node& node) { return node.op == "Conv2D" || node.op == "MatMul"; }

bool IsTransposed(const Node& node) {
  return node.op == "MatMul" && GetAttribute<bool>(node, "transpose_b");
}

bool HasConstantWeights(GraphRewriter* graph, const Node& node) {
  if (!IsLinear(node) || graph->Constant(node.inputs[1]) == nullptr) return false;
  return node.op == "Conv2D" || !GetAttribute<bool>(node, "transpose_a");
}

Tensor Filled(int64_t size, float value) {
  Tensor tensor(Shape{size});
  std::fill_n(tensor.Floats(), size, value);
  return tensor;
}

// weights [..,K] times factor [K].
Tensor ScaledByColumn(const Tensor& weights, const std::vector<double>& factor) {
  Tensor scaled(weights.GetShape());
  const auto columns = static_cast<int64_t>(factor.size());
  const float* from = weights.Floats();
  float* to = scaled.Floats();
  for (const float* end = from + weights.Elements(); from != end;) {
    for (int64_t c = 0; c < columns; ++c)
      *to++ = static_cast<float>(*from++ * factor[static_cast<size_t>(c)]);
  }
  return scaled;
}

// What a batch norm does to each channel: x * factor + offset.
struct Affine {
  std::vector<double> factor, offset;

  Tensor Factors() const { return Floats(factor); }
  Tensor Offsets() const { return Floats(offset); }

 private:
  static Tensor Floats(const std::vector<double>& values) {
    Tensor tensor(Shape{static_cast<int64_t>(values.size())});
    std::transform(values.begin(), values.end(), tensor.Floats(),
                   [](double value) { return static_cast<float>(value); });
    return tensor;
  }
};

// Reads a FusedBatchNormV3 in inference whose parameters are constants and whose statistics nobody
// reads.
bool ReadBatchNorm(GraphRewriter* graph, const Node& node, Affine* affine) {
  if (node.op != "FusedBatchNormV3" || GetAttribute<bool>(node, "is_training")) return false;
  const Tensor* parameters[4];
  for (size_t i = 0; i < 4; ++i) {
    parameters[i] = graph->Constant(node.inputs[i + 1]);
    if (parameters[i] == nullptr) return false;
  }
  if (graph->UsesOtherOutputs(node.id)) return false;
  const double epsilon = GetAttribute<float>(node, "epsilon");
  for (int64_t c = 0; c < parameters[0]->Elements(); ++c) {
    const auto at = [&](size_t i) { return static_cast<double>(parameters[i]->Floats()[c]); };
    const double factor = at(0) / std::sqrt(at(3) + epsilon);
    affine->factor.push_back(factor);
    affine->offset.push_back(at(1) - at(2) * factor);
  }
  return true;
}

// Puts `id`, which does this to the output of node `before`, into the linear op that this is,
// perhaps with a bias after it.
bool FoldIntoLinear(GraphRewriter* graph, NodeId id, NodeId before, const Affine& affine) {
  const bool has_bias = graph->At(before).op == "BiasAdd";
  const NodeId linear = has_bias ? graph->At(before).inputs[0].node : before;
  // Output channels have to be the weights' last dimension.
  if (!HasConstantWeights(graph, graph->At(linear)) || IsTransposed(graph->At(linear)))
    return false;
  if (!graph->HasOneUse(linear) || !graph->HasOneUse(before)) return false;
  Affine bias = affine;
  if (has_bias) {
    const Tensor* old = graph->Constant(graph->At(before).inputs[1]);
    if (old == nullptr) return false;
    for (size_t c = 0; c < bias.offset.size(); ++c)
      bias.offset[c] += static_cast<double>(old->Floats()[c]) * bias.factor[c];
  }
  const std::string name = graph->At(id).name;
  const Output weights = graph->AddConstant(
      name + "/folded_weights",
      ScaledByColumn(*graph->Constant(graph->At(linear).inputs[1]), affine.factor));
  const Output offsets = graph->AddConstant(name + "/folded_bias", bias.Offsets());
  const Output input = graph->At(linear).inputs[0];
  graph->Become(linear, graph->At(linear).op, {input, weights}, graph->At(linear).attributes);
  graph->Become(id, "BiasAdd", {{linear, 0}, offsets}, {});
  return true;
}

bool IsFused(const Node& node) {
  return node.op == "_FusedConv2D" || node.op == "_FusedMatMul" || node.op == "_FusedScale";
}

bool HasActivation(const Node& node) {
  return !GetAttribute<std::string>(node, "activation").empty();
}

// `id` computes an activation of the fused op's value: the op takes its place.
void MoveFused(GraphRewriter* graph, NodeId fused, NodeId id, std::vector<Output> inputs,
               Attributes attributes) {
  graph->Become(id, graph->At(fused).op, std::move(inputs), std::move(attributes));
}

bool IsActivation(const std::string& op) {
  return op == "Relu" || op == "Relu6" || op == "Sigmoid" || op == "HardSwish" || op == "Gelu" ||
         op == "ClipByValue";
}

// Whether a constant of this shape has a number for each channel of `image`, or of rows.
bool IsByChannel(const Shape& constant, const Shape& image) {
  const int64_t channels = image[image.Rank() - 1];
  return constant.Rank() > 0 && constant.Elements() == channels &&
         constant[constant.Rank() - 1] == channels;
}

}  // namespace

void FoldPadding(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    const Node& node = graph->At(id);
    if (node.op != "Conv2D" || GetAttribute<std::string>(node, "padding") != "VALID") continue;
    const Node& pad = graph->At(node.inputs[0].node);
    if (pad.op != "Pad" || GetAttributeOr<float>(pad, "value", 0) != 0) continue;
    const auto& paddings = GetAttribute<std::vector<int64_t>>(pad, "paddings");
    const bool spatial = paddings.size() == 8 && paddings[0] == 0 && paddings[1] == 0 &&
                         paddings[6] == 0 && paddings[7] == 0;
    if (!spatial) continue;
    Attributes attributes = node.attributes;
    attributes["padding"] = "EXPLICIT";
    attributes["explicit_paddings"] =
        std::vector<int64_t>{paddings[2], paddings[3], paddings[4], paddings[5]};
    graph->Become(id, "Conv2D", {pad.inputs[0], node.inputs[1]}, std::move(attributes));
  }
}

void NormaliseBiases(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    if (graph->At(id).op != "AddV2") continue;
    for (int side : {0, 1}) {
      const Node& node = graph->At(id);
      const Output value = node.inputs[static_cast<size_t>(side)];
      const Output other = node.inputs[static_cast<size_t>(1 - side)];
      const Tensor* bias = graph->Constant(other);
      if (bias == nullptr || !IsLinear(graph->At(value.node))) continue;
      const Shape& shape = graph->Info(value).shape;
      if (shape != node.outputs[0].shape || !IsByChannel(bias->GetShape(), shape)) continue;
      const Output vector =
          graph->AddConstant(node.name + "/bias", bias->Reshaped(Shape{bias->Elements()}));
      graph->Become(id, "BiasAdd", {value, vector}, {});
      break;
    }
  }
}

void FoldBatchNorms(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    Affine affine;
    if (!ReadBatchNorm(graph, graph->At(id), &affine)) continue;
    if (FoldIntoLinear(graph, id, graph->At(id).inputs[0].node, affine)) continue;
    const std::string name = graph->At(id).name;
    const Output input = graph->At(id).inputs[0];
    const Output factor = graph->AddConstant(name + "/factor", affine.Factors());
    const Output offset = graph->AddConstant(name + "/offset", affine.Offsets());
    graph->Become(id, "_FusedScale", {input, factor, offset}, {{"activation", std::string()}});
    graph->At(id).outputs.resize(1);
  }
}

void FoldScales(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    if (graph->At(id).op != "Mul") continue;
    for (size_t side : {size_t{0}, size_t{1}}) {
      const Node& node = graph->At(id);
      const Output value = node.inputs[side];
      const Tensor* factor = graph->Constant(node.inputs[1 - side]);
      const Shape& shape = graph->Info(value).shape;
      if (factor == nullptr || shape != node.outputs[0].shape || shape.Rank() == 0) continue;
      if (!IsByChannel(factor->GetShape(), shape)) continue;
      const Affine affine{{factor->Floats(), factor->Floats() + factor->Elements()},
                          std::vector<double>(static_cast<size_t>(factor->Elements()), 0)};
      if (FoldIntoLinear(graph, id, value.node, affine)) break;
    }
  }
}

void FuseBiases(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    const Node& node = graph->At(id);
    NodeId linear = -1;
    Output bias;
    if (node.op == "BiasAdd" && graph->Constant(node.inputs[1]) != nullptr &&
        HasConstantWeights(graph, graph->At(node.inputs[0].node)) &&
        graph->HasOneUse(node.inputs[0].node)) {
      linear = node.inputs[0].node;
      bias = node.inputs[1];
    } else if (HasConstantWeights(graph, node)) {
      if (graph->HasOneUse(id) && graph->User(id).op == "BiasAdd") continue;
      linear = id;
    }
    if (linear == -1) continue;
    const std::string op = graph->At(linear).op == "Conv2D" ? "_FusedConv2D" : "_FusedMatMul";
    Attributes attributes = graph->At(linear).attributes;
    attributes.erase("transpose_a");
    attributes["activation"] = std::string();
    const std::vector<Output> inputs = graph->At(linear).inputs;
    if (bias.node == -1) {
      const Shape& output = graph->Info({linear, 0}).shape;
      bias = graph->AddConstant(graph->At(id).name + "/zero_bias",
                                Filled(output[output.Rank() - 1], 0));
    }
    graph->Become(id, op, {inputs[0], inputs[1], bias}, std::move(attributes));
  }
}

void FuseResiduals(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    const Node& node = graph->At(id);
    if (node.op != "AddV2" || node.inputs[0] == node.inputs[1]) continue;
    const Shape& shape = node.outputs[0].shape;
    if (graph->Info(node.inputs[0]).shape != shape || graph->Info(node.inputs[1]).shape != shape)
      continue;
    // The later one, where both could: the other is ready by then.
    std::vector<Output> sides = node.inputs;
    std::sort(sides.begin(), sides.end());
    for (size_t i : {1, 0}) {
      const Node& convolution = graph->At(sides[i].node);
      const bool fits = convolution.op == "_FusedConv2D" && convolution.inputs.size() == 3 &&
                        !HasActivation(convolution) && graph->HasOneUse(convolution.id);
      if (!fits) continue;
      std::vector<Output> inputs = convolution.inputs;
      inputs.push_back(sides[1 - i]);
      MoveFused(graph, convolution.id, id, std::move(inputs), convolution.attributes);
      break;
    }
  }
}

void FuseActivations(GraphRewriter* graph) {
  for (NodeId id = 0; id < graph->Size(); ++id) {
    const Node& node = graph->At(id);
    if (!IsActivation(node.op)) continue;
    const Node& fused = graph->At(node.inputs[0].node);
    if (!IsFused(fused) || HasActivation(fused) || !graph->HasOneUse(fused.id)) continue;
    Attributes attributes = fused.attributes;
    attributes["activation"] = node.op;
    if (node.op == "ClipByValue") {
      attributes["min"] = node.attributes.at("min");
      attributes["max"] = node.attributes.at("max");
    }
    MoveFused(graph, fused.id, id, fused.inputs, std::move(attributes));
  }
}

}  // namespace cosched
