// libFuzzer target of the readers of model files, one format a run (--format=onnx or graphdef):
// whatever bytes arrive, the reader and the build give a graph of bounded size or an InputError
// that names the file; the graph is optimised or gets its gradients, and the memory of its run is
// planned. Kernels are not run. --write-seeds=FOLDER writes small models to start from.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/graph/optimizer.h"
#include "engine/graph/readers/build_limits.h"
#include "engine/graph/readers/model_file.h"
#include "tests/fuzz/format_option.h"
#include "tests/fuzz/model_changes.h"
#include "tests/fuzz/model_seeds.h"
#include "tests/fuzz/plan.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace cosched {
namespace {

// Bytes of all nodes' results: more than any plan of them takes.
double ResultBytes(const Graph& graph) {
  double bytes = 0;
  for (const Node& node : graph.Nodes()) {
    if (node.inputs.empty() || node.op == "Reshape") continue;
    for (const OutputInfo& output : node.outputs) {
      bytes += 4 * static_cast<double>(output.shape.Elements());
    }
  }
  return bytes;
}

void CheckPlan(Graph* graph, const std::vector<std::string>& fetches) {
  graph->Build();
  Demand(static_cast<double>(PlannedBytes(*graph, fetches)) <= ResultBytes(*graph),
         "a plan takes no more memory than the values do");
}

struct BuiltModel {
  Graph graph;
  GraphBuilder builder{&graph};
  std::vector<std::string> fetches;
  Output first;

  BuiltModel(const ModelFile& file, const BuildSettings& settings) {
    std::vector<Output> inputs;
    const auto interfaces = file.Inputs(settings.batch);
    for (size_t i = 0; i < interfaces.size(); ++i) {
      inputs.push_back(builder.Placeholder("input" + std::to_string(i), interfaces[i].Ours()));
    }
    // Twice, as a service does that answers several batch sizes from one graph.
    for (int i = 0; i < 2; ++i) {
      const GraphBuilder::Scope scope(&builder, "build");
      fetches.clear();
      for (const auto& built : file.Build(&builder, inputs, settings)) {
        Demand(graph.Info(built.output).shape == built.interface.Ours(), "outputs are as they say");
        fetches.push_back(graph.At(built.output.node).name + ":" +
                          std::to_string(built.output.index));
        if (fetches.size() == 1) first = built.output;
      }
    }
    Demand(graph.Size() <= 2 * (kMostNodes + 64 * static_cast<int>(kMostInterfaces)),
           "nodes are bounded");
    // A batch of its own counts whole.
    const double images = file.OwnBatch() > 0 ? 1 : static_cast<double>(settings.batch);
    if (settings.training) {
      Demand(ResultBytes(graph) <= 3.0 * kMostTrainingBytes * images, "values are bounded");
    }
  }
};

void CheckInference(const ModelFile& file, int64_t batch) {
  const BuiltModel model(file, {.batch = batch, .logits = true});
  Graph optimised;
  OptimizeForInference(model.graph, model.fetches, {}, &optimised, {.bytes = 1 << 12, .inter = 2});
  CheckPlan(&optimised, model.fetches);
}

void CheckTraining(const ModelFile& file, int64_t batch) {
  BuiltModel model(file, {.batch = batch, .training = true});
  const std::vector<Output> variables = model.builder.TrainableVariables();
  const Output loss = model.builder.MeanAll(model.first);
  const NodeId train = model.builder.ApplyMomentum(
      variables, model.builder.Gradients(loss, variables), 0.1f, 0.9f, 0.0f, "train");
  CheckPlan(&model.graph, {model.graph.At(train).name});
}

void Check(std::string_view bytes) {
  try {
    const auto file =
        format_option.format == "onnx" ? ParseOnnx(bytes, "input") : ParseGraphDef(bytes, "input");
    const int64_t batch = file->OwnBatch() > 0 ? file->OwnBatch() : 3;
    CheckInference(*file, batch);
    CheckTraining(*file, batch);
  } catch (const InputError& error) {
    Demand(!error.details().problem.empty(), "an error says what is wrong");
    Demand(error.details().file == "input" || error.details().key.starts_with("node "),
           "an error names its file");
  }
}

}  // namespace
}  // namespace cosched

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  cosched::ReadFormatOption(*count, *arguments, [](const std::string& name) {
    return name == "onnx" || name == "graphdef";
  });
  const std::string& seeds = cosched::format_option.seeds;
  if (seeds.empty()) return 0;
  int number = 0;
  const bool onnx = cosched::format_option.format == "onnx";
  const auto write = [&](const std::string& model) {
    std::ofstream(seeds + "/seed" + std::to_string(number++), std::ios::binary) << model;
  };
  for (const std::string& model : onnx ? cosched::OnnxSeeds() : cosched::GraphDefSeeds()) {
    write(model);
    // Each seed must be a model, or the fuzzer would start from nothing.
    cosched::CheckInference(
        onnx ? *cosched::ParseOnnx(model, "seed") : *cosched::ParseGraphDef(model, "seed"), 2);
  }
  for (const std::string& model : onnx ? cosched::OnnxRefused() : cosched::GraphDefRefused()) {
    write(model);
  }
  std::exit(0);
}

// Half of the inputs are changed as messages rather than as bytes, so that what comes after parsing
// is reached: an op, an input, a size or an attribute becomes another one of the same model.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::string changed = cosched::format_option.format == "onnx"
                                  ? cosched::ChangedOnnx(bytes, seed)
                                  : cosched::ChangedGraphDef(bytes, seed);
  if (changed.empty() || changed.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cosched::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
