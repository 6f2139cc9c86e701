#include "workloads/program.h"

#include "engine/graph/graph_builder.h"

namespace cosched {
namespace {

constexpr char kTrain[] = "train";

}  // namespace

std::string_view ToString(Mode mode) { return mode == Mode::kTrain ? "train" : "infer"; }

bool ParseMode(std::string_view text, Mode* result) {
  for (Mode mode : {Mode::kTrain, Mode::kInfer}) {
    if (text != ToString(mode)) continue;
    *result = mode;
    return true;
  }
  return false;
}

ModelProgram::ModelProgram(const ModelInfo& model, Mode mode, int batch, uint64_t seed,
                           const SessionOptions& options) {
  GraphBuilder builder(&graph_);
  const Output images =
      builder.Placeholder(kImages, {batch, model.image[0], model.image[1], model.image[2]});
  const Output logits = model.build(builder, images, mode == Mode::kTrain, seed);
  if (mode == Mode::kTrain) {
    AddTraining(model, &builder, logits);
  } else {
    fetches_ = {graph_.At(builder.Softmax(logits).node).name};
  }
  graph_.Build();
  session_ = std::make_unique<Session>(graph_, options);
}

void ModelProgram::AddTraining(const ModelInfo& model, GraphBuilder* builder, Output logits) {
  const Shape batch = {graph_.Info(logits).shape[0]};
  const Output labels = builder->Placeholder(kLabels, batch, DataType::kInt32);
  const NodeId entropy = builder->SparseSoftmaxCrossEntropyWithLogits(logits, labels);
  const Output loss = builder->MeanAll({entropy, 0});
  const std::vector<Output>& variables = builder->TrainableVariables();
  builder->ApplyMomentum(variables, builder->Gradients(loss, variables), model.learning_rate,
                         model.momentum, model.weight_decay, kTrain);
  fetches_ = {graph_.At(logits.node).name, graph_.At(loss.node).name, kTrain};
}

}  // namespace cosched
