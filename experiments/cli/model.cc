#include "experiments/cli/model.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/base/random.h"
#include "engine/graph/optimizer.h"
#include "engine/session/session.h"
#include "experiments/cli/kernel_rates_option.h"
#include "experiments/cli/program_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/exit_code.h"
#include "workloads/npy_file.h"
#include "workloads/opened_network.h"

namespace cosched {
namespace {

struct ModelRunArguments {
  std::string model;
  std::vector<std::string> input;
  std::vector<std::string> output;
  std::vector<std::string> expect;
  int batch = 0;
  int threads = 1;
  double tolerance = 1e-4;
  std::string kernel_rates = kMeasuredRates;
  bool plain = false;
};

Tensor ReadArray(const std::string& file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  if (extension == ".npy") return ReadNpy(file);
  if (extension == ".pb") return ReadTensorProto(file);
  throw InputError({.file = file,
                    .problem = "is neither .npy nor .pb",
                    .allowed = "numpy's array or ONNX's TensorProto"});
}

// [N,C,H,W] to [N,H,W,C], or back.
Tensor Swapped(const Tensor& from, bool to_channels_last) {
  const Shape& shape = from.GetShape();
  const int64_t rows = to_channels_last ? shape[1] : shape[1] * shape[2];
  const int64_t columns = to_channels_last ? shape[2] * shape[3] : shape[3];
  Tensor result(to_channels_last ? Shape{shape[0], shape[2], shape[3], shape[1]}
                                 : Shape{shape[0], shape[3], shape[1], shape[2]});
  const float* source = from.Floats();
  float* target = result.Floats();
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) target[c * rows + r] = source[r * columns + c];
    }
    source += rows * columns;
    target += rows * columns;
  }
  return result;
}

// Draws of a standard normal, from a fixed seed: the same numbers in every run.
Tensor RandomInput(const Shape& shape, uint64_t seed) {
  Random random(seed);
  Tensor tensor(shape);
  for (int64_t i = 0; i < tensor.Elements(); ++i) {
    tensor.Floats()[i] = static_cast<float>(random.Normal(0, 1));
  }
  return tensor;
}

Feeds FeedsOf(const OpenedNetwork& network, const std::vector<std::string>& files) {
  if (!files.empty() && files.size() != network.inputs.size()) {
    RefuseOption("--input", fmt::format("{} files", files.size()),
                 fmt::format("{}, one for each input, or none", network.inputs.size()));
  }
  double bytes = 0;
  for (const ModelFile::Interface& input : network.inputs) {
    bytes += sizeof(float) * static_cast<double>(input.shape.Elements());
  }
  if (const auto most = static_cast<double>(AvailableMemory()) / 2; bytes > most) {
    RefuseOption("--batch", fmt::format("the inputs would take {:.0f} bytes", bytes),
                 fmt::format("{:.0f} bytes, half of what this machine has left", most));
  }
  Feeds feeds;
  for (size_t i = 0; i < network.inputs.size(); ++i) {
    const ModelFile::Interface& input = network.inputs[i];
    const Tensor value = files.empty() ? RandomInput(input.shape, i + 1) : ReadArray(files[i]);
    if (value.GetShape() != input.shape) {
      throw InputError(
          {.file = files[i],
           .problem = fmt::format("has shape {}", value.GetShape().ToString()),
           .allowed = fmt::format("{}, input \"{}\"", input.shape.ToString(), input.name)});
    }
    feeds.emplace_back(input.name, input.channels_first ? Swapped(value, true) : value);
  }
  return feeds;
}

struct Difference {
  double absolute = 0;   // The largest.
  double magnitude = 0;  // The largest of the reference.
  bool is_number = true;
  double Relative() const { return absolute == 0 ? 0 : absolute / magnitude; }
};

Difference MeasureDifference(const Tensor& result, const Tensor& reference) {
  Difference difference;
  for (int64_t i = 0; i < result.Elements(); ++i) {
    const double wanted = reference.Floats()[i];
    const double error = std::fabs(result.Floats()[i] - wanted);
    difference.is_number = difference.is_number && std::isfinite(error);
    difference.absolute = std::max(difference.absolute, error);
    difference.magnitude = std::max(difference.magnitude, std::fabs(wanted));
  }
  return difference;
}

std::vector<Tensor> RunNetwork(OpenedNetwork* network, Feeds feeds,
                               const ModelRunArguments& arguments) {
  std::vector<std::string> fetches;
  for (const ModelFile::Built& output : network->outputs) {
    fetches.push_back(
        fmt::format("{}:{}", network->graph->At(output.output.node).name, output.output.index));
  }
  Graph optimised;
  Graph* graph = network->graph.get();
  if (!arguments.plain) {
    OptimizeForInference(*graph, fetches, {}, &optimised);
    graph = &optimised;
  }
  graph->Build();
  std::vector<Tensor> results;
  {
    Session session(*graph, {.intra_op_parallelism_threads = arguments.threads,
                             .rates = KernelRatesOption(arguments.kernel_rates)});
    results = session.Run(feeds, fetches);
  }
  feeds.clear();  // With the session, which is gone, for the memory of what follows.
  for (size_t i = 0; i < results.size(); ++i) {
    if (network->outputs[i].interface.channels_first) results[i] = Swapped(results[i], false);
  }
  return results;
}

// Whether all results are as expected.
bool ReportOutputs(const OpenedNetwork& network, const std::vector<Tensor>& results,
                   const ModelRunArguments& arguments) {
  bool good = true;
  for (size_t i = 0; i < results.size(); ++i) {
    fmt::print("output {} {}", network.outputs[i].interface.name, results[i].GetShape().ToString());
    if (i < arguments.output.size()) WriteNpy(arguments.output[i], results[i]);
    if (i < arguments.expect.size()) {
      const Tensor reference = ReadArray(arguments.expect[i]);
      if (reference.GetShape() != results[i].GetShape()) {
        throw InputError({.file = arguments.expect[i],
                          .problem = fmt::format("has shape {}", reference.GetShape().ToString()),
                          .allowed = results[i].GetShape().ToString()});
      }
      const Difference difference = MeasureDifference(results[i], reference);
      const bool fits = difference.is_number && difference.Relative() <= arguments.tolerance;
      good = good && fits;
      fmt::print(
          ": max absolute error {:.3g}, max relative error {:.3g} (of the largest magnitude, "
          "{:.6g}){}",
          difference.absolute, difference.Relative(), difference.magnitude,
          fits ? "" : fmt::format(": above the tolerance of {:g}", arguments.tolerance));
    }
    fmt::print("\n");
  }
  return good;
}

int RunModel(const ModelRunArguments& arguments) {
  OpenedNetwork network = OpenNetwork(arguments.model, arguments.batch);
  for (const auto& [option, files] :
       {std::pair("--output", &arguments.output), std::pair("--expect", &arguments.expect)}) {
    if (files->size() <= network.outputs.size()) continue;
    RefuseOption(option, fmt::format("{} files", files->size()),
                 fmt::format("{} at most, one for each output", network.outputs.size()));
  }
  std::vector<Tensor> results;
  try {
    results = RunNetwork(&network, FeedsOf(network, arguments.input), arguments);
  } catch (const InputError& error) {
    InputErrorDetails details = error.details();
    if (details.file.empty()) details.file = arguments.model;  // A node's error: name the file.
    throw InputError(std::move(details));
  }
  return ReportOutputs(network, results, arguments) ? 0 : kDiffers;
}

int DescribeModel(const std::string& model, int batch) {
  const OpenedNetwork network = OpenNetwork(model, batch);
  fmt::print("{}: {}\n", model, network.format);
  for (const ModelFile::Interface& input : network.inputs) {
    fmt::print("input {} {}\n", input.name, input.shape.ToString());
  }
  struct Row {
    std::string node, op, shape, macs;
  };
  std::vector<Row> rows = {{"node", "op", "result", "multiply-accumulates"}};
  std::map<std::string, int> counts;
  int64_t macs = 0;
  for (const Node& node : network.graph->Nodes()) {
    if (node.outputs.empty() || node.inputs.empty()) continue;
    const int64_t own = MultiplyAccumulates(*network.graph, node);
    macs += own;
    ++counts[node.op];
    rows.push_back({node.name, node.op, node.outputs[0].shape.ToString(),
                    own > 0 ? std::to_string(own) : "-"});
  }
  size_t widest = 0;
  for (const Row& row : rows) widest = std::max(widest, row.node.size());
  for (const Row& row : rows) {
    fmt::print("{:<{}}  {:<20}  {:<22}  {:>20}\n", row.node, widest, row.op, row.shape, row.macs);
  }
  std::string ops;
  for (const auto& [op, count] : counts) {
    ops += fmt::format("{}{} {}", ops.empty() ? "" : ", ", count, op);
  }
  for (const ModelFile::Built& output : network.outputs) {
    fmt::print("output {} {}\n", output.interface.name, output.interface.shape.ToString());
  }
  fmt::print("{} nodes: {}\n", rows.size() - 1, ops);
  fmt::print("{} parameters, {} multiply-accumulates\n", network.parameters, macs);
  return 0;
}

}  // namespace

void AddModelCommand(CLI::App& app, int* exit_code) {
  CLI::App* model = app.add_subcommand("model", "Run a network once, or tell what it consists of");
  model->require_subcommand(1);
  const auto arguments = std::make_shared<ModelRunArguments>();
  CLI::App* run = model->add_subcommand(
      "run", "Run it on given numbers and compare with a reference; exits with 1 if they differ");
  const std::string names = "A name of `cosched list models`, onnx:FILE or graphdef:FILE";
  run->add_option("--model", arguments->model, names)->required();
  run->add_option("--input", arguments->input,
                  "One .npy, or .pb (ONNX TensorProto), for each input, in the model's own layout "
                  "(ONNX: [N,C,H,W]); without: random numbers, the same in every run");
  run->add_option("--output", arguments->output, "Write each output to such a .npy");
  run->add_option("--expect", arguments->expect, "Compare each output with such a .npy or .pb");
  AddNumber(run, "--batch", &arguments->batch, 1, kLargestBatch,
            "Images (without: the file's own batch, or 1)")
      ->default_str("");
  AddNumber(run, "--threads", &arguments->threads, 1, 1024, "Intra-op threads");
  AddNumber(run, "--tolerance", &arguments->tolerance, 0, std::numeric_limits<double>::max(),
            "Largest error, relative to the largest magnitude of the reference", "a number from 0");
  AddKernelRatesOption(run, &arguments->kernel_rates);
  run->add_flag("--plain", arguments->plain, "Without the graph optimiser");
  run->callback([arguments, exit_code] { *exit_code = RunModel(*arguments); });

  const auto described = std::make_shared<std::pair<std::string, int>>();
  CLI::App* describe = model->add_subcommand(
      "describe", "Its nodes, their results' shapes, parameters and multiply-accumulates");
  describe->add_option("model", described->first, names)->required();
  AddNumber(describe, "--batch", &described->second, 1, kLargestBatch, "Images")->default_str("");
  describe->callback(
      [described, exit_code] { *exit_code = DescribeModel(described->first, described->second); });
}

}  // namespace cosched
