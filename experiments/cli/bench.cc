#include "experiments/cli/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/read_number.h"
#include "engine/base/topology.h"
#include "experiments/bench/bench_capacity.h"
#include "experiments/bench/bench_engine.h"
#include "experiments/bench/bench_serve.h"
#include "experiments/bench/bench_splits.h"
#include "experiments/bench/bench_worker.h"
#include "experiments/cli/deterministic_option.h"
#include "experiments/cli/kernel_rates_option.h"
#include "experiments/cli/program_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "experiments/config/trace_table.h"
#include "workloads/auto_split.h"
#include "workloads/model.h"

namespace cosched {
namespace {

constexpr char kAuto[] = "auto";

constexpr int kLargestCapacity = 1024;

struct BenchArguments {
  std::vector<std::string> models;
  std::vector<int> batches = {1};
  std::vector<int> threads;
  std::vector<int> capacities;
  Mode mode = Mode::kInfer;
  std::vector<Precision> precisions = {Precision::kFloat};
  std::string inter = "1";  // A number, or kAuto.
  std::string kernel_rates = kMeasuredRates;
  BenchEngineOptions options;
  bool split_grid = false;
  bool speed_only = false;
  bool json = false;
  bool csv = false;
  bool interactive = false;
  bool deterministic = true;
};

// The first so many, one hardware thread of each before the second ones.
CpuSet FirstCores(const Topology& topology, int count) {
  const CpuSet& each = topology.OneThreadPerCore();
  if (count <= each.Count()) return each.Lowest(count);
  return each | (topology.Cpus() - each).Lowest(count - each.Count());
}

// The split of a cell on so many cores.
Split BenchSplit(const std::string& inter, int cores) {
  if (inter == kAuto) return {cores, cores};
  const std::optional<int> number = ReadNumber<int>(inter, 1, cores);
  if (!number) RefuseValue("--inter", inter, "auto, or " + NumbersAllowed(1, cores));
  return {*number, cores};
}

std::vector<EngineCell> Cells(const BenchArguments& arguments, const Topology& topology) {
  const int machine = topology.Cpus().Count();
  std::vector<std::string> models = arguments.models;
  if (models.empty()) {
    for (const ModelInfo& model : Models()) models.emplace_back(model.name);
  }
  const std::vector<int> threads = arguments.threads.empty()
                                       ? std::vector<int>{topology.OneThreadPerCore().Count()}
                                       : arguments.threads;
  EngineCell cell;
  cell.mode = arguments.mode;
  cell.deterministic = arguments.deterministic;
  cell.auto_split = arguments.inter == kAuto;
  if (!cell.deterministic && (cell.auto_split || arguments.split_grid)) {
    RefuseOption("--no-deterministic",
                 fmt::format("with {} {}", arguments.split_grid ? "--split-grid" : "--inter auto",
                             kWhyTriedSplitsAreDeterministic),
                 "an --inter");
  }
  for (const Precision precision : arguments.precisions) CheckPrecision(precision);
  cell.rates = KernelRatesOption(arguments.kernel_rates);
  std::vector<EngineCell> cells;
  for (const std::string& model : models) {
    cell.model = model;
    for (const int batch : arguments.batches) {
      cell.batch = batch;
      for (const int count : threads) {
        CheckNumber("--threads", count, 1, machine);
        cell.cores = FirstCores(topology, count);
        cell.split = BenchSplit(arguments.inter, count);
        for (const Precision precision : arguments.precisions) {
          cell.precision = precision;
          cells.push_back(cell);
        }
      }
    }
  }
  return cells;
}

void CheckCapacities(const std::vector<int>& capacities, const std::vector<EngineCell>& cells) {
  int least = 1;
  for (const EngineCell& cell : cells) least = std::max(least, cell.cores.Count());
  for (const int capacity : capacities)
    CheckNumber("--capacity", capacity, least, kLargestCapacity);
}

int BenchEngine(const BenchArguments& arguments) {
  const Topology topology = Topology::ThisMachine();
  BenchEngineOptions options = arguments.options;
  options.cells = Cells(arguments, topology);
  if (arguments.interactive) {
    if (options.cells.size() != 1) {
      RefuseOption("--interactive", "several cells",
                   "one --model, one --batch, one --threads and one --precision");
    }
    return RunBenchWorker(options.cells.front(), topology);
  }
  options.measure.kernels = !arguments.speed_only;
  options.peak_seconds = arguments.speed_only ? 0 : 1;
  if (arguments.json) options.format = BenchEngineOptions::Format::kJson;
  if (arguments.csv) options.format = BenchEngineOptions::Format::kCsv;
  if (!arguments.capacities.empty()) {
    CheckCapacities(arguments.capacities, options.cells);
    return RunBenchCapacities(options, arguments.capacities, topology);
  }
  return arguments.split_grid ? RunBenchSplits(options, topology)
                              : RunBenchEngine(options, topology);
}

int BenchServe(const BenchServeOptions& options) {
  if (!IsModelName(options.model)) RefuseValue("--model", options.model, ModelNames());
  for (const double rate : options.rates) {
    if (rate * options.seconds <= kMostDrawn) continue;
    RefuseOption("--seconds",
                 fmt::format("is {} at {} requests a second, more than {} requests",
                             options.seconds, rate, kMostDrawn),
                 fmt::format("at most {} then", kMostDrawn / rate));
  }
  return RunBenchServe(options, Topology::ThisMachine());
}

void AddBenchServe(CLI::App* bench, int* exit_code) {
  CLI::App* serve = bench->add_subcommand(
      "serve",
      "Requests a second through harness, socket, service and records, all on one core, beside a "
      "bare socket. It wants the machine for itself");
  const auto options = std::make_shared<BenchServeOptions>();
  options->rates = {10'000, 25'000, 50'000, 75'000, 100'000};
  serve->add_option("--model", options->model, "What answers")->capture_default_str();
  AddNumber(serve, "--rate", &options->rates, 1, 1e7, "Requests a second, each in a run of its own")
      ->delimiter(',')
      ->capture_default_str();
  AddNumber(serve, "--seconds", &options->seconds, 0.01, 1e4, "Of each run");
  AddNumber(serve, "--max-batch", &options->max_batch, 1, 1000,
            "Requests answered at once, at most");
  AddNumber(serve, "--max-delay-ms", &options->max_delay_ms, 0, 1e3,
            "How long fewer wait for more");
  serve->callback([options, exit_code] { *exit_code = BenchServe(*options); });
}

}  // namespace

void AddBenchCommand(CLI::App& app, int* exit_code) {
  CLI::App* bench =
      app.add_subcommand("bench", "Measure the engine, or the way of requests, on this machine");
  bench->require_subcommand(1);
  AddBenchServe(bench, exit_code);
  CLI::App* engine = bench->add_subcommand(
      "engine",
      "Images a second of models, beside what limits them: this machine's peak, and the "
      "same kernels run back to back. It wants the machine for itself. Floating-point operations "
      "are counted as those of sums over windows; 3x3 convolutions may need fewer (Winograd), so a "
      "share of the peak may exceed 100 %");
  const auto arguments = std::make_shared<BenchArguments>();
  engine
      ->add_option("--model", arguments->models, "See `cosched list models`; default: all of them")
      ->delimiter(',');
  AddNumber(engine, "--batch", &arguments->batches, 1, kLargestBatch, "Images a step; default: 1")
      ->delimiter(',');
  AddNumber(engine, "--threads", &arguments->threads, 1, kMostThreads,
            "Cores, one thread on each; default: all, of hardware threads one of each")
      ->delimiter(',');
  AddChoice(engine, "--mode", &arguments->mode, {{"infer", Mode::kInfer}, {"train", Mode::kTrain}},
            "What a step is");
  AddPrecisionOption(engine, &arguments->precisions)->default_str("f32")->delimiter(',');
  engine
      ->add_option(
          "--inter", arguments->inter,
          "Nodes that may run at once, one a core at most; or \"auto\": inter and intra as "
          "split = \"auto\" chooses them at the start")
      ->capture_default_str();
  AddDeterministicOption(engine, &arguments->deterministic);
  AddKernelRatesOption(engine, &arguments->kernel_rates);
  AddNumber(engine, "--repetitions", &arguments->options.measure.repetitions, 1, 10'000,
            "Of each cell; what is told is their median");
  AddNumber(engine, "--seconds", &arguments->options.measure.seconds, 0, 1e6,
            "Of a repetition; at least one step");
  CLI::Option* speed_only =
      engine->add_flag("--speed-only", arguments->speed_only, "Leave out what limits the speed");
  engine
      ->add_flag("--per-op", arguments->options.per_op,
                 "Where the kernels' time goes, by type of op and by node")
      ->excludes(speed_only);
  engine
      ->add_flag(
          "--split-grid", arguments->split_grid,
          "Instead: each inter x intra in one resizable session, beside split = \"auto\" and the "
          "settings that TensorFlow and Intel publish")
      ->excludes(speed_only)
      ->excludes("--per-op")
      ->excludes("--inter");
  AddNumber(engine, "--capacity", &arguments->capacities, 1, kLargestCapacity,
            "Instead: what it costs to be able to grow. Sessions of these capacities on so "
            "many threads, each beside one of no other capacity, in turns")
      ->delimiter(',')
      ->excludes(speed_only)
      ->excludes("--split-grid");
  CLI::Option* json =
      engine->add_flag("--json", arguments->json, "A JSON object a cell, one on a line");
  engine->add_flag("--csv", arguments->csv, "The same as CSV")->excludes(json);
  engine->add_flag("--interactive", arguments->interactive,
                   "Load one cell, then run for as long as each line \"run SECONDS\" of the input "
                   "says, answered by a JSON object; until the input ends");
  engine->callback([arguments, exit_code] { *exit_code = BenchEngine(*arguments); });
}

}  // namespace cosched
