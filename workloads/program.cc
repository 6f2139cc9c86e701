#include "workloads/program.h"

#include <utility>

#include "engine/base/cache_sizes.h"
#include "engine/base/error.h"
#include "engine/graph/bfloat16.h"
#include "engine/graph/graph_builder.h"
#include "engine/graph/optimizer.h"
#include "engine/kernels/kernel.h"
#include "workloads/weights_file.h"

namespace cosched {
namespace {

constexpr char kTrain[] = "train";

// Returns what to fetch in a step.
std::vector<std::string> AddTraining(const ModelInfo& model, Output logits, const Graph& graph,
                                     GraphBuilder* builder) {
  const Shape batch = {graph.Info(logits).shape[0]};
  const Output labels = builder->Placeholder(ModelProgram::kLabels, batch, DataType::kInt32);
  const NodeId entropy = builder->SparseSoftmaxCrossEntropyWithLogits(logits, labels);
  const Output loss = builder->MeanAll({entropy, 0});
  const std::vector<Output>& variables = builder->TrainableVariables();
  builder->ApplyMomentum(variables, builder->Gradients(loss, variables), model.learning_rate,
                         model.momentum, model.weight_decay, kTrain);
  return {graph.At(logits.node).name, graph.At(loss.node).name, kTrain};
}

std::string FetchOf(const Graph& graph, Output output) {
  return graph.At(output.node).name + ":" + std::to_string(output.index);
}

}  // namespace

ModelProgram::ModelProgram(const ModelInfo& model, const ProgramSettings& settings) {
  const std::string problem = PrecisionProblem(settings.precision);
  if (!problem.empty())
    throw InputError({.key = "precision", .problem = problem, .allowed = "f32"});
  const bool training = settings.mode == Mode::kTrain;
  const bool optimised = !training && !settings.keeps_variables;
  Graph plain;
  Graph& graph = optimised ? plain : graph_;
  GraphBuilder builder(&graph);
  NamedTensors weights;
  if (!settings.weights_file.empty()) weights = LoadTensors(settings.weights_file);
  builder.UseValues(&weights);
  const Output images = builder.Placeholder(
      kImages, {settings.batch, model.image[0], model.image[1], model.image[2]});
  const Output logits = model.build(builder, images, training, settings.seed);
  if (!settings.weights_file.empty()) CheckWeights(weights, settings.weights_file, graph);
  rows_ = graph.Info(logits).shape[0];
  if (training) {
    fetches_ = AddTraining(model, logits, graph, &builder);
  } else {
    fetches_ = {FetchOf(graph, logits)};
  }
  if (optimised) {
    OptimizeForInference(plain, fetches_, {}, &graph_,
                         {.bytes = ThisMachinesSecondLevelCache().bytes,
                          .intra = settings.session.intra_op_parallelism_threads,
                          .inter = settings.session.inter_op_parallelism_threads});
  }
  if (settings.precision == Precision::kBFloat16) {
    const Graph floats = std::exchange(graph_, {});
    ConvertToBFloat16(floats, fetches_, &graph_);
  }
  graph_.Build();
  SessionOptions options = settings.session;
  options.one_list_of_fetches = optimised;
  session_ = std::make_unique<Session>(graph_, options);
  if (optimised) graph_.ReleaseConstants();
}

}  // namespace cosched
