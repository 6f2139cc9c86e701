#include "workloads/gradient_step.h"

#include <string_view>

#include "engine/base/error.h"

namespace cosched {
namespace {

constexpr char kImages[] = "images";
constexpr char kLabels[] = "labels";

[[noreturn]] void Fail(const std::string& file, const std::string& problem,
                       const std::string& allowed) {
  throw InputError({.file = file, .problem = problem, .allowed = allowed});
}

const Tensor& Given(const NamedTensors& inputs, const std::string& name, const std::string& file) {
  const auto found = inputs.find(name);
  if (found == inputs.end())
    Fail(file, "lacks \"" + name + "\"", "images, labels and the model's variables");
  return found->second;
}

void CheckLabels(const Tensor& labels, const Shape& rows, int classes, const std::string& file) {
  if (labels.Type() != DataType::kInt32 || labels.GetShape() != rows) {
    Fail(file, "\"labels\" are of shape " + labels.GetShape().ToString(),
         "int32 " + rows.ToString());
  }
  for (int64_t i = 0; i < labels.Elements(); ++i) {
    const int32_t label = labels.Ints()[i];
    if (label >= 0 && label < classes) continue;
    Fail(file, "\"labels\" has a " + std::to_string(label), "0 to " + std::to_string(classes - 1));
  }
}

// The layer whose output the node gives, or "".
std::string LayerOf(const Node& node, const Graph& graph) {
  size_t added = 0;
  if (node.op == "BiasAdd") added = 1;
  if (node.op == "FusedBatchNormV3") added = 2;
  if (added == 0) return "";
  const Node& variable = graph.At(node.inputs[added].node);
  if (variable.op != "VariableV2") return "";
  for (const std::string_view suffix : {"/bias", "/offset"}) {
    if (variable.name.ends_with(suffix))
      return variable.name.substr(0, variable.name.size() - suffix.size());
  }
  return variable.name;
}

}  // namespace

GradientStep::GradientStep(const ModelInfo& model, const NamedTensors& inputs,
                           const std::string& file, const SessionOptions& options) {
  const Tensor& images = Given(inputs, kImages, file);
  const Tensor& labels = Given(inputs, kLabels, file);
  const Shape& shape = images.GetShape();
  if (images.Type() != DataType::kFloat || shape.Rank() != 4 || shape[3] != model.image[2]) {
    Fail(file, "\"images\" are of shape " + shape.ToString(),
         "float32 [N,height,width," + std::to_string(model.image[2]) + "]");
  }
  feeds_ = {{kImages, images}, {kLabels, labels}};
  NamedTensors weights = inputs;
  weights.erase(kImages);
  weights.erase(kLabels);
  Build(model, weights, file);
  session_ = std::make_unique<Session>(graph_, options);
}

void GradientStep::Build(const ModelInfo& model, const NamedTensors& weights,
                         const std::string& file) {
  GraphBuilder builder(&graph_);
  builder.UseValues(&weights);
  const Output images = builder.Placeholder(kImages, feeds_[0].second.GetShape());
  const Output logits = model.build(builder, images, true, 1);
  if (!weights.empty()) CheckWeights(weights, file, graph_);
  const Shape rows = {graph_.Info(logits).shape[0]};
  CheckLabels(feeds_[1].second, rows, model.classes, file);
  const Output labels = builder.Placeholder(kLabels, rows, DataType::kInt32);
  const NodeId entropy = builder.SparseSoftmaxCrossEntropyWithLogits(logits, labels);
  const Output loss = builder.MeanAll({entropy, 0});
  const std::vector<Output>& variables = builder.TrainableVariables();
  const std::vector<Output> gradients = builder.Gradients(loss, variables);
  step_.Add("loss", loss, graph_);
  step_.Add("logits", logits, graph_);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].node == -1) continue;  // The loss does not depend on that variable.
    step_.Add(graph_.At(variables[i].node).name, gradients[i], graph_);
  }
  for (const Node& node : graph_.Nodes()) {
    const std::string layer = LayerOf(node, graph_);
    if (!layer.empty()) layers_.Add(layer, {node.id, 0}, graph_);
  }
  graph_.Build();
}

void GradientStep::Fetches::Add(const std::string& name, Output output, const Graph& graph) {
  names.push_back(name);
  fetches.push_back(graph.At(output.node).name + ":" + std::to_string(output.index));
}

NamedTensors GradientStep::Run() { return Fetch(step_); }

NamedTensors GradientStep::LayerOutputs() { return Fetch(layers_); }

NamedTensors GradientStep::Fetch(const Fetches& fetches) {
  const std::vector<Tensor> values = session_->Run(feeds_, fetches.fetches);
  NamedTensors result;
  for (size_t i = 0; i < values.size(); ++i) result.emplace(fetches.names[i], values[i]);
  return result;
}

}  // namespace cosched
