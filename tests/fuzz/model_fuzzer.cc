// libFuzzer target of the readers of model files, one format a run (--format=onnx or graphdef):
// whatever bytes arrive, the reader and the build give a graph of bounded size or an InputError
// that names the file. Kernels are not run. --write-seeds=FOLDER writes small valid models to start
// from.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/graph/readers/model_file.h"
#include "tests/fuzz/model_changes.h"
#include "tests/fuzz/model_seeds.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace cosched {
namespace {

std::string format;  // Set once, before the first input.

void Demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: broken promise: %s\n", format.c_str(), what);
  std::abort();
}

int64_t ActivationBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Node& node : graph.Nodes()) {
    if (node.inputs.empty() || node.op == "Reshape") continue;
    for (const OutputInfo& output : node.outputs) bytes += 4 * output.shape.Elements();
  }
  return bytes;
}

void CheckBuild(const ModelFile& file, const BuildSettings& settings) {
  Graph graph;
  GraphBuilder builder(&graph);
  std::vector<Output> inputs;
  const auto interfaces = file.Inputs(settings.batch);
  for (size_t i = 0; i < interfaces.size(); ++i) {
    inputs.push_back(builder.Placeholder("input" + std::to_string(i), interfaces[i].Ours()));
  }
  // Twice, as a service does that answers several batch sizes from one graph.
  for (int i = 0; i < 2; ++i) {
    const GraphBuilder::Scope scope(&builder, "build");
    for (const auto& built : file.Build(&builder, inputs, settings)) {
      Demand(graph.Info(built.output).shape == built.interface.Ours(), "outputs are as they say");
    }
  }
  Demand(ActivationBytes(graph) <= 3 * kMostActivationBytes * settings.batch,
         "activations are bounded");
  graph.Build();
}

void Check(std::string_view bytes) {
  try {
    const auto file = format == "onnx" ? ParseOnnx(bytes, "input") : ParseGraphDef(bytes, "input");
    const int64_t batch = file->OwnBatch() > 0 ? file->OwnBatch() : 3;
    CheckBuild(*file, {.batch = batch, .training = false, .logits = true});
    CheckBuild(*file, {.batch = batch, .training = true});
  } catch (const InputError& error) {
    Demand(!error.details().problem.empty(), "an error says what is wrong");
    Demand(error.details().file == "input" || error.details().key.starts_with("node "),
           "an error names its file");
  }
}

}  // namespace
}  // namespace cosched

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kFormat = "--format=";  // libFuzzer leaves "--" to its target.
  constexpr std::string_view kSeeds = "--write-seeds=";
  std::string seeds;
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (argument.starts_with(kFormat)) cosched::format = argument.substr(kFormat.size());
    if (argument.starts_with(kSeeds)) seeds = argument.substr(kSeeds.size());
  }
  if (cosched::format != "onnx" && cosched::format != "graphdef") {
    std::fprintf(stderr, "--format=%s: no such model format\n", cosched::format.c_str());
    std::exit(1);
  }
  if (seeds.empty()) return 0;
  int number = 0;
  const auto models = cosched::format == "onnx" ? cosched::OnnxSeeds() : cosched::GraphDefSeeds();
  for (const std::string& model : models) {
    std::ofstream(seeds + "/seed" + std::to_string(number++), std::ios::binary) << model;
    // Each seed must be a model, or the fuzzer would start from nothing.
    if (cosched::format == "onnx") {
      cosched::CheckBuild(*cosched::ParseOnnx(model, "seed"), {.batch = 2});
    } else {
      cosched::CheckBuild(*cosched::ParseGraphDef(model, "seed"), {.batch = 2});
    }
  }
  std::exit(0);
}

// Half of the inputs are changed as messages rather than as bytes, so that what comes after parsing
// is reached: an op, an input, a size or an attribute becomes another one of the same model.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::string changed = cosched::format == "onnx" ? cosched::ChangedOnnx(bytes, seed)
                                                        : cosched::ChangedGraphDef(bytes, seed);
  if (changed.empty() || changed.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cosched::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
