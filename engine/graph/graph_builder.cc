#include "engine/graph/graph_builder.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/graph/gradients.h"
#include "engine/graph/shape_inference.h"

namespace cosched {
namespace {

using Ints = std::vector<int64_t>;

using Attributes = std::map<std::string, Attribute>;

std::string TextOf(Padding padding) {
  switch (padding) {
    case Padding::kSame: return "SAME";
    case Padding::kValid: return "VALID";
    case Padding::kExplicit: return "EXPLICIT";
  }
  return "";
}

Ints Both(const HeightWidth& sizes) { return {sizes.height, sizes.width}; }

Attributes AttributesOf(const ConvolutionOptions& options) {
  return {{"strides", Both(options.stride)},
          {"padding", TextOf(options.padding)},
          {"explicit_paddings", options.explicit_paddings},
          {"dilations", Both(options.dilations)}};
}

Attributes AttributesOf(const PoolingOptions& options) {
  return {{"ksize", Both(options.window)},
          {"strides", Both(options.stride)},
          {"padding", TextOf(options.padding)},
          {"explicit_paddings", options.explicit_paddings}};
}

}  // namespace

GraphBuilder::Scope::Scope(GraphBuilder* builder, const std::string& name)
    : builder_(builder), length_(builder->prefix_.size()) {
  builder->prefix_ += name + "/";
}

GraphBuilder::Scope::~Scope() { builder_->prefix_.resize(length_); }

NodeId GraphBuilder::AddNode(const std::string& op, std::vector<Output> inputs,
                             std::map<std::string, Attribute> attributes) {
  return graph_->Add(op, graph_->UniqueName(Scoped(op)), std::move(inputs), std::move(attributes));
}

Output GraphBuilder::Placeholder(const std::string& name, const Shape& shape, DataType type) {
  const std::string type_name = type == DataType::kFloat ? "float" : "int32";
  return {graph_->Add("Placeholder", Scoped(name), {},
                      {{"shape", shape.Sizes()}, {"dtype", type_name}})};
}

Output GraphBuilder::Const(const std::string& name, Tensor value) {
  return {graph_->Add("Const", Scoped(name), {}, {{"value", std::move(value)}})};
}

Output GraphBuilder::Variable(const std::string& name, Tensor initial) {
  const Shape shape = initial.GetShape();
  return Variable(name, shape, [&initial] { return std::move(initial); });
}

Output GraphBuilder::Variable(const std::string& name, const Shape& shape,
                              const std::function<Tensor()>& initial) {
  const Output variable = FindOrAdd(name, shape, initial);
  if (std::ranges::find(trainable_, variable) == trainable_.end()) trainable_.push_back(variable);
  return variable;
}

Output GraphBuilder::UntrainableVariable(const std::string& name, Tensor initial) {
  const Shape shape = initial.GetShape();
  return FindOrAdd(name, shape, [&initial] { return std::move(initial); });
}

const Tensor* GraphBuilder::GivenValue(const std::string& name, const Shape& shape) const {
  if (values_ == nullptr) return nullptr;
  const auto found = values_->find(name);
  const bool fits = found != values_->end() && found->second.GetShape() == shape &&
                    found->second.Type() == DataType::kFloat;
  return fits ? &found->second : nullptr;
}

Output GraphBuilder::FindOrAdd(const std::string& name, const Shape& shape,
                               const std::function<Tensor()>& initial) {
  const NodeId known = graph_->Find(Scoped(name));
  if (known == -1) {
    const Tensor* given = GivenValue(Scoped(name), shape);
    return {graph_->Add("VariableV2", Scoped(name), {},
                        {{"initial", given != nullptr ? *given : initial()}})};
  }
  const Node& node = graph_->At(known);
  if (node.op != "VariableV2" || node.outputs[0].shape != shape) {
    FailNode(node, "it cannot also be a variable of shape " + shape.ToString());
  }
  return {known};
}

Output GraphBuilder::Reshape(Output x, const Shape& shape) {
  return {AddNode("Reshape", {x}, {{"shape", shape.Sizes()}})};
}

Output GraphBuilder::ConcatV2(const std::vector<Output>& parts, int64_t axis) {
  return {AddNode("ConcatV2", parts, {{"axis", axis}})};
}

Output GraphBuilder::Slice(Output x, const Ints& begin, const Ints& size) {
  return {AddNode("Slice", {x}, {{"begin", begin}, {"size", size}})};
}

Output GraphBuilder::Pad(Output x, const Ints& paddings, float value) {
  return {AddNode("Pad", {x}, {{"paddings", paddings}, {"value", value}})};
}

Output GraphBuilder::Transpose(Output x, const Ints& perm) {
  return {AddNode("Transpose", {x}, {{"perm", perm}})};
}

Output GraphBuilder::Conv2D(Output image, Output filter, const ConvolutionOptions& options) {
  return {AddNode("Conv2D", {image, filter}, AttributesOf(options))};
}

Output GraphBuilder::Conv2D(Output image, Output filter, int stride, Padding padding) {
  return Conv2D(image, filter, {.stride = stride, .padding = padding});
}

Output GraphBuilder::Conv2DBackpropInput(Output filter, Output y, const Shape& image,
                                         const ConvolutionOptions& options) {
  Attributes attributes = AttributesOf(options);
  attributes["input_shape"] = image.Sizes();
  return {AddNode("Conv2DBackpropInput", {filter, y}, std::move(attributes))};
}

Output GraphBuilder::BiasAdd(Output x, Output bias) { return {AddNode("BiasAdd", {x, bias})}; }

Output GraphBuilder::BatchNorm(Output x, Output scale, Output offset, Output running_mean,
                               Output running_variance, bool training, float epsilon, float decay) {
  const NodeId norm =
      AddNode("FusedBatchNormV3", {x, scale, offset, running_mean, running_variance},
              {{"epsilon", epsilon}, {"is_training", training}});
  if (training) {
    updates_.push_back(
        AddNode("AssignMovingAverage", {running_mean, {norm, 1}}, {{"decay", decay}}));
    updates_.push_back(
        AddNode("AssignMovingAverage", {running_variance, {norm, 2}}, {{"decay", decay}}));
  }
  return {norm, 0};
}

Output GraphBuilder::Relu(Output x) { return {AddNode("Relu", {x})}; }

Output GraphBuilder::Relu6(Output x) { return {AddNode("Relu6", {x})}; }

Output GraphBuilder::Sigmoid(Output x) { return {AddNode("Sigmoid", {x})}; }

Output GraphBuilder::HardSwish(Output x) { return {AddNode("HardSwish", {x})}; }

Output GraphBuilder::ClipByValue(Output x, float min, float max) {
  return {AddNode("ClipByValue", {x}, {{"min", min}, {"max", max}})};
}

Output GraphBuilder::MaxPool(Output x, const PoolingOptions& options) {
  return {AddNode("MaxPool", {x}, AttributesOf(options))};
}

Output GraphBuilder::MaxPool(Output x, int window, int stride, Padding padding) {
  return MaxPool(x, {.window = window, .stride = stride, .padding = padding});
}

Output GraphBuilder::AvgPool(Output x, const PoolingOptions& options) {
  Attributes attributes = AttributesOf(options);
  attributes["count_padding"] = options.count_padding;
  return {AddNode("AvgPool", {x}, std::move(attributes))};
}

Output GraphBuilder::AvgPool(Output x, int window, int stride, Padding padding) {
  return AvgPool(x, {.window = window, .stride = stride, .padding = padding});
}

Output GraphBuilder::GlobalAveragePool(Output x) {
  return {AddNode("Mean", {x}, {{"axes", Ints{1, 2}}})};
}

Output GraphBuilder::MeanAll(Output x) {
  Ints axes;
  for (int axis = 0; axis < graph_->Info(x).shape.Rank(); ++axis) axes.push_back(axis);
  return {AddNode("Mean", {x}, {{"axes", axes}})};
}

Output GraphBuilder::Mean(Output x, const Ints& axes, bool keep_dims) {
  return {AddNode("Mean", {x}, {{"axes", axes}, {"keep_dims", keep_dims}})};
}

Output GraphBuilder::MatMul(Output a, Output b) { return {AddNode("MatMul", {a, b})}; }

Output GraphBuilder::AddV2(Output a, Output b) { return {AddNode("AddV2", {a, b})}; }

Output GraphBuilder::Sub(Output a, Output b) { return {AddNode("Sub", {a, b})}; }

Output GraphBuilder::Mul(Output a, Output b) { return {AddNode("Mul", {a, b})}; }

Output GraphBuilder::RealDiv(Output a, Output b) { return {AddNode("RealDiv", {a, b})}; }

Output GraphBuilder::Softmax(Output logits) { return {AddNode("Softmax", {logits})}; }

NodeId GraphBuilder::SparseSoftmaxCrossEntropyWithLogits(Output logits, Output labels) {
  return AddNode("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
}

std::vector<Output> GraphBuilder::Gradients(Output loss, const std::vector<Output>& xs) {
  return AddGradients(graph_, loss, xs, Scoped("gradients"));
}

NodeId GraphBuilder::ApplyMomentum(const std::vector<Output>& variables,
                                   const std::vector<Output>& gradients, float learning_rate,
                                   float momentum, float weight_decay, const std::string& name) {
  CHECK(variables.size() == gradients.size())
      << variables.size() << " variables, " << gradients.size() << " gradients";
  std::vector<NodeId> updates = updates_;
  for (size_t i = 0; i < variables.size(); ++i) {
    const Node variable = graph_->At(variables[i].node);
    if (gradients[i].node == -1) {
      FailNode(variable, "cannot be trained: the loss does not depend on it");
    }
    Tensor zeros(variable.outputs[0].shape);
    std::fill_n(zeros.Floats(), zeros.Elements(), 0.0f);
    const NodeId accumulator =
        graph_->Add("VariableV2", variable.name + "/momentum", {}, {{"initial", std::move(zeros)}});
    updates.push_back(graph_->Add("ApplyMomentum", variable.name + "/ApplyMomentum",
                                  {variables[i], {accumulator}, gradients[i]},
                                  {{"learning_rate", learning_rate},
                                   {"momentum", momentum},
                                   {"weight_decay", weight_decay}}));
  }
  return graph_->Add("NoOp", Scoped(name), {}, {}, std::move(updates));
}

}  // namespace cosched
