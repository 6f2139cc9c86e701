#include "engine/graph/ops.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/graph/image_types.h"
#include "engine/graph/shape_inference.h"

namespace cosched {
namespace {

constexpr AttributeKind kInt = AttributeKind::kInt;
constexpr AttributeKind kInts = AttributeKind::kInts;
constexpr AttributeKind kFloat = AttributeKind::kFloat;
constexpr AttributeKind kBool = AttributeKind::kBool;
constexpr AttributeKind kString = AttributeKind::kString;
constexpr AttributeKind kTensor = AttributeKind::kTensor;
constexpr int kAny = OpDefinition::kAnyNumber;

using Ints = std::vector<int64_t>;
using Rules = std::vector<AttributeRule>;

Rules Joined(Rules rules, const Rules& more) {
  rules.insert(rules.end(), more.begin(), more.end());
  return rules;
}

// Attributes that several ops have.
struct CommonRules {
  AttributeRule axes{"axes", kInts, {}};
  AttributeRule keep_dims{"keep_dims", kBool, false};
  AttributeRule input_shape{"input_shape", kInts, {}};
  AttributeRule epsilon{"epsilon", kFloat, {}};
  Rules window{
      {"strides", kInts, {}}, {"padding", kString, {}}, {"explicit_paddings", kInts, Ints{}}};
  Rules convolution = Joined(window, {{"dilations", kInts, Ints{1, 1}}});
  Rules pool = Joined(window, {{"ksize", kInts, {}}});
  Rules average_pool = Joined(pool, {{"count_padding", kBool, false}});
  Rules clip{{"min", kFloat, {}}, {"max", kFloat, {}}};
  Rules lrn{{"depth_radius", kInt, {}},
            {"bias", kFloat, {}},
            {"alpha", kFloat, {}},
            {"beta", kFloat, {}}};
};

std::vector<OpDefinition> Sources() {
  return {
      {"Placeholder",
       0,
       0,
       {{"shape", kInts, {}}, {"dtype", kString, "float"}},
       infer::Placeholder,
       {}},
      {"Const", 0, 0, {{"value", kTensor, {}}}, infer::Const, {}},
      {"VariableV2", 0, 0, {{"initial", kTensor, {}}}, infer::Variable, {}},
      {"NoOp", 0, 0, {}, infer::NoOp, {}},
  };
}

std::vector<OpDefinition> WindowOps(const CommonRules& common) {
  const AttributeRule filter_shape{"filter_shape", kInts, {}};
  return {
      {"Conv2D", 2, 2, common.convolution, infer::Conv2D, {}},
      {"Conv2DBackpropInput",
       2,
       2,
       Joined(common.convolution, {common.input_shape}),
       infer::Conv2DBackpropInput,
       {}},
      {"Conv2DBackpropFilter",
       2,
       2,
       Joined(common.convolution, {filter_shape}),
       infer::Conv2DBackpropFilter,
       {}},
      {"MaxPool", 1, 1, common.pool, infer::Pool, {}},
      {"AvgPool", 1, 1, common.average_pool, infer::Pool, {}},
      {"MaxPoolGrad", 3, 3, common.pool, infer::MaxPoolGrad, {}},
      {"AvgPoolGrad",
       1,
       1,
       Joined(common.average_pool, {common.input_shape}),
       infer::AvgPoolGrad,
       {}},
      {"LRN", 1, 1, common.lrn, infer::LocalResponse, {}},
      {"LRNGrad", 3, 3, common.lrn, infer::LocalResponse, {}},
  };
}

std::vector<OpDefinition> ArrayOps(const CommonRules& common) {
  return {
      {"Reshape", 1, 1, {{"shape", kInts, {}}}, infer::Reshape, {}},
      {"Cast", 1, 1, {{"dtype", kString, {}}}, infer::Cast, {}},
      {"ConcatV2", 1, kAny, {{"axis", kInt, {}}}, infer::Concat, {}},
      {"Slice", 1, 1, {{"begin", kInts, {}}, {"size", kInts, {}}}, infer::Slice, {}},
      {"Pad", 1, 1, {{"paddings", kInts, {}}, {"value", kFloat, 0.0f}}, infer::Pad, {}},
      {"Transpose", 1, 1, {{"perm", kInts, {}}}, infer::Transpose, {}},
      {"Mean", 1, 1, {common.axes, common.keep_dims}, infer::Mean, {}},
      {"MeanGrad", 1, 1, {common.axes, common.keep_dims, common.input_shape}, infer::MeanGrad, {}},
      {"MatMul",
       2,
       2,
       {{"transpose_a", kBool, false}, {"transpose_b", kBool, false}},
       infer::MatMul,
       {}},
  };
}

std::vector<OpDefinition> ElementwiseOps(const CommonRules& common) {
  return {
      {"BiasAdd", 2, 2, {}, infer::BiasAdd, {}},
      {"BiasAddGrad", 1, 1, {}, infer::BiasAddGrad, {}},
      {"Relu", 1, 1, {}, infer::SameShapes, {}},
      {"ReluGrad", 2, 2, {}, infer::SameShapes, {}},
      {"Relu6", 1, 1, {}, infer::SameShapes, {}},
      {"Relu6Grad", 2, 2, {}, infer::SameShapes, {}},
      {"Sigmoid", 1, 1, {}, infer::SameShapes, {}},
      {"SigmoidGrad", 2, 2, {}, infer::SameShapes, {}},
      {"HardSwish", 1, 1, {}, infer::SameShapes, {}},
      {"HardSwishGrad", 2, 2, {}, infer::SameShapes, {}},
      {"Sqrt", 1, 1, {}, infer::SameShapes, {}},
      {"Erf", 1, 1, {}, infer::SameShapes, {}},
      {"ErfGrad", 2, 2, {}, infer::SameShapes, {}},
      {"Gelu", 1, 1, {}, infer::SameShapes, {}},
      {"ClipByValue", 1, 1, common.clip, infer::ClipByValue, {}},
      {"ClipByValueGrad", 2, 2, common.clip, infer::ClipByValue, {}},
      {"AddV2", 2, 2, {}, infer::Broadcast, {}},
      {"Sub", 2, 2, {}, infer::Broadcast, {}},
      {"Mul", 2, 2, {}, infer::Broadcast, {}},
      {"RealDiv", 2, 2, {}, infer::Broadcast, {}},
      {"AddN", 1, kAny, {}, infer::SameShapes, {}},
  };
}

// Made by the optimiser.
std::vector<OpDefinition> FusedOps(const CommonRules& common) {
  const Rules activation{
      {"activation", kString, std::string()}, {"min", kFloat, 0.0f}, {"max", kFloat, 0.0f}};
  return {
      {"_FusedConv2D", 3, 4, Joined(common.convolution, activation), infer::FusedConv2D, {}},
      {"_FusedMatMul",
       3,
       3,
       Joined(activation, {{"transpose_b", kBool, false}}),
       infer::FusedMatMul,
       {}},
      {"_FusedScale", 3, 3, activation, infer::FusedScale, {}},
      {"_FusedLayerNorm", 3, 3, {common.epsilon}, infer::FusedLayerNorm, {}},
  };
}

std::vector<OpDefinition> TrainingOps(const CommonRules& common) {
  return {
      {"FusedBatchNormV3",
       5,
       5,
       {common.epsilon, {"is_training", kBool, {}}},
       infer::FusedBatchNorm,
       {}},
      {"FusedBatchNormGradV3", 5, 5, {common.epsilon}, infer::FusedBatchNormGrad, {}},
      {"AssignMovingAverage", 2, 2, {{"decay", kFloat, {}}}, infer::AssignMovingAverage, {0}},
      {"Softmax", 1, 1, {}, infer::Softmax, {}},
      {"SparseSoftmaxCrossEntropyWithLogits", 2, 2, {}, infer::SparseSoftmaxCrossEntropy, {}},
      {"ApplyMomentum",
       3,
       3,
       {{"learning_rate", kFloat, {}}, {"momentum", kFloat, {}}, {"weight_decay", kFloat, {}}},
       infer::ApplyMomentum,
       {0, 1}},
  };
}

std::vector<OpDefinition> MakeTable() {
  const CommonRules common;
  std::vector<OpDefinition> table = Sources();
  for (const auto& family : {WindowOps(common), ArrayOps(common), ElementwiseOps(common),
                             TrainingOps(common), FusedOps(common)})
    table.insert(table.end(), family.begin(), family.end());
  return table;
}

bool IsOfKind(const Attribute& value, AttributeKind kind) {
  switch (kind) {
    case kInt: return std::holds_alternative<int64_t>(value);
    case kInts: return std::holds_alternative<std::vector<int64_t>>(value);
    case kFloat: return std::holds_alternative<float>(value);
    case kBool: return std::holds_alternative<bool>(value);
    case kString: return std::holds_alternative<std::string>(value);
    case kTensor: return std::holds_alternative<Tensor>(value);
  }
  return false;
}

const char* NameOf(AttributeKind kind) {
  switch (kind) {
    case kInt: return "an int";
    case kInts: return "a list of ints";
    case kFloat: return "a float";
    case kBool: return "a bool";
    case kString: return "a string";
    case kTensor: return "a tensor";
  }
  return "";
}

void CheckAttributes(const OpDefinition& op, Node* node) {
  for (const AttributeRule& rule : op.attributes) {
    const std::string name(rule.name);
    const auto found = node->attributes.find(name);
    if (found == node->attributes.end()) {
      if (!rule.otherwise) FailNode(*node, "attribute " + name + " is missing", NameOf(rule.kind));
      node->attributes[name] = *rule.otherwise;
    } else if (!IsOfKind(found->second, rule.kind)) {
      FailNode(*node, "attribute " + name + " has another type", NameOf(rule.kind));
    }
  }
  if (node->attributes.size() == op.attributes.size()) return;
  std::string allowed;
  for (const AttributeRule& rule : op.attributes) {
    allowed += (allowed.empty() ? "" : ", ") + std::string(rule.name);
  }
  for (const auto& attribute : node->attributes) {
    if (std::none_of(op.attributes.begin(), op.attributes.end(),
                     [&](const AttributeRule& rule) { return rule.name == attribute.first; })) {
      FailNode(*node, "unknown attribute " + attribute.first, allowed.empty() ? "none" : allowed);
    }
  }
}

void CheckInputCount(const OpDefinition& op, const Node& node) {
  const int inputs = static_cast<int>(node.inputs.size());
  if (inputs >= op.min_inputs && inputs <= op.max_inputs) return;
  FailNode(node, "has " + std::to_string(inputs) + " inputs",
           std::to_string(op.min_inputs) + (op.max_inputs == kAny ? " or more" : ""));
}

// Returns the type of the node's images.
DataType CheckTypes(const Inference& node, const std::string& op) {
  if (op == "Reshape") return DataType::kFloat;  // Has the type of its input, whatever it is.
  const ImageTypes types = ImageTypesOf(op);
  // Class labels are the integers of this engine.
  const bool labels = op == "SparseSoftmaxCrossEntropyWithLogits";
  DataType images = DataType::kFloat;
  for (int i = 0; i < node.Inputs(); ++i) {
    const bool may_be_half = op == "Cast" || types.HasInput(static_cast<size_t>(i));
    if (may_be_half && node.Info(i).type == DataType::kBFloat16) images = DataType::kBFloat16;
  }
  for (int i = 0; i < node.Inputs(); ++i) {
    const bool is_image = op == "Cast" || types.HasInput(static_cast<size_t>(i));
    if (!(labels && i == 1)) node.RequireType(i, is_image ? images : DataType::kFloat);
  }
  return images;
}

}  // namespace

const std::vector<OpDefinition>& Ops() {
  static const std::vector<OpDefinition> table = MakeTable();
  return table;
}

const OpDefinition* FindOp(std::string_view name) {
  const std::vector<OpDefinition>& ops = Ops();
  const auto found =
      std::find_if(ops.begin(), ops.end(), [&](const OpDefinition& op) { return op.name == name; });
  return found == ops.end() ? nullptr : &*found;
}

bool IsSource(std::string_view op) {
  return op == "Placeholder" || op == "Const" || op == "VariableV2";
}

void InferNode(Node* node, const std::vector<const Node*>& producers) {
  const OpDefinition* op = FindOp(node->op);
  if (op == nullptr) FailNode(*node, "unknown op", "the ops of engine/graph/ops.md");
  CheckInputCount(*op, *node);
  CheckAttributes(*op, node);
  if (IsSource(node->op) && !node->control_inputs.empty()) {
    FailNode(*node, "has control inputs, but its value exists before the run starts");
  }
  std::vector<OutputInfo> inputs;
  for (size_t i = 0; i < producers.size(); ++i) {
    inputs.push_back(producers[i]->outputs[static_cast<size_t>(node->inputs[i].index)]);
  }
  const Inference inference(*node, inputs);
  const DataType images = CheckTypes(inference, node->op);
  for (int input : op->writes) {
    if (producers[static_cast<size_t>(input)]->op != "VariableV2") {
      inference.Fail("input " + std::to_string(input) + " is written, but \"" +
                         producers[static_cast<size_t>(input)]->name + "\" is no variable",
                     "a VariableV2");
    }
  }
  node->outputs = op->infer(inference);
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    if (ImageTypesOf(node->op).HasOutput(i)) node->outputs[i].type = images;
  }
  for (const OutputInfo& output : node->outputs) {
    if (output.shape.Elements() > kMaxElements)
      inference.Fail("the output has shape " + output.shape.ToString(), "at most 2^40 elements");
  }
}

}  // namespace cosched
