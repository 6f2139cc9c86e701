#include "workloads/opened_network.h"

#include <algorithm>

#include "workloads/model.h"
#include "workloads/model_from_file.h"

namespace cosched {
namespace {

constexpr uint64_t kWeightsSeed = 1;  // The seed of our own models' weights.

std::string PlaceholderName(const std::string& name) {
  std::string result = name;
  std::replace(result.begin(), result.end(), ':', '_');
  return result;
}

void BuildFile(const std::string& model, int64_t batch, OpenedNetwork* network) {
  network->file = OpenModelFile(model);
  const ModelFile& file = *network->file;
  network->format = file.Format();
  if (batch == 0) batch = std::max<int64_t>(file.OwnBatch(), 1);
  network->inputs = file.Inputs(batch);
  GraphBuilder builder(network->graph.get());
  std::vector<Output> inputs;
  for (ModelFile::Interface& input : network->inputs) {
    input.name = PlaceholderName(input.name);
    inputs.push_back(builder.Placeholder(input.name, input.Ours()));
  }
  network->outputs = file.Build(&builder, inputs, {.batch = batch});
  for (const Output& variable : builder.TrainableVariables()) {
    network->parameters += network->graph->Info(variable).shape.Elements();
  }
}

void BuildOurs(const std::string& model, int64_t batch, OpenedNetwork* network) {
  const std::shared_ptr<const ModelInfo> info = OpenModel(model);
  network->format = "cosched";
  network->parameters = info->parameters;
  const Shape& image = info->image;
  const Shape shape = {std::max<int64_t>(batch, 1), image[0], image[1], image[2]};
  network->inputs = {{.name = "images", .shape = shape}};
  GraphBuilder builder(network->graph.get());
  const Output logits =
      info->build(builder, builder.Placeholder("images", shape), /*training=*/false, kWeightsSeed);
  network->outputs = {{.interface = {.name = "logits", .shape = network->graph->Info(logits).shape},
                       .output = logits}};
}

}  // namespace

OpenedNetwork OpenNetwork(const std::string& model, int64_t batch) {
  OpenedNetwork network;
  network.graph = std::make_unique<Graph>();
  if (IsModelFileName(model)) {
    BuildFile(model, batch, &network);
  } else {
    BuildOurs(model, batch, &network);
  }
  return network;
}

int64_t MultiplyAccumulates(const Graph& graph, const Node& node) {
  const auto shape = [&](size_t input) -> const Shape& {
    return graph.Info(node.inputs[input]).shape;
  };
  if (node.op == "Conv2D") {
    const Shape& filter = shape(1);
    return node.outputs[0].shape.Elements() * filter[0] * filter[1] * filter[2];
  }
  if (node.op == "Conv2DBackpropInput") {
    const Shape& filter = shape(0);
    return shape(1).Elements() * filter[0] * filter[1] * filter[2];
  }
  if (node.op == "MatMul") {
    const int inner = GetAttribute<bool>(node, "transpose_a") ? 0 : 1;
    return node.outputs[0].shape.Elements() * shape(0)[inner];
  }
  return 0;
}

}  // namespace cosched
