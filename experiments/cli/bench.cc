#include "experiments/cli/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/topology.h"
#include "experiments/bench/bench_capacity.h"
#include "experiments/bench/bench_engine.h"
#include "experiments/bench/bench_serve.h"
#include "experiments/bench/bench_splits.h"
#include "experiments/bench/bench_worker.h"
#include "experiments/cli/deterministic_option.h"
#include "experiments/cli/kernel_rates_option.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "workloads/model.h"

namespace cosched {
namespace {

constexpr char kAuto[] = "auto";

// As text, so that every bad value gets the same kind of message; empty = not given.
struct BenchArguments {
  std::vector<std::string> models;
  std::vector<std::string> batches = {"1"};
  std::vector<std::string> threads;
  std::vector<std::string> capacities;
  std::string mode = "infer";
  std::vector<std::string> precisions = {"f32"};
  std::string inter = "1";
  std::string kernel_rates = kMeasuredRates;
  std::string repetitions = "5";
  std::string seconds = "1";
  bool per_op = false;
  bool speed_only = false;
  bool split_grid = false;
  bool json = false;
  bool csv = false;
  bool interactive = false;
  bool deterministic = true;
};

template <typename Number>
Number Parse(std::string_view option, std::string_view text, Number low, Number high,
             std::string_view else_allowed = "") {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || !(number >= low && number <= high)) {
    RefuseValue(option, text, fmt::format("{}a number from {} to {}", else_allowed, low, high));
  }
  return number;
}

// The first so many, as a tenant that is granted them.
CpuSet FirstCores(const Topology& topology, int count) {
  CpuSet cores;
  for (int cpu : topology.Cpus()) {
    if (cores.Count() < count) cores.Add(cpu);
  }
  return cores;
}

Precision ReadPrecision(const std::string& text) {
  Precision precision = Precision::kFloat;
  if (!ParsePrecision(text, &precision)) RefuseValue("--precision", text, "f32 or bf16");
  const std::string problem = PrecisionProblem(precision);
  if (problem.empty()) return precision;
  throw InputError(
      {.file = "command line", .key = "--precision", .problem = problem, .allowed = "f32"});
}

std::vector<EngineCell> Cells(const BenchArguments& arguments, const Topology& topology) {
  constexpr int kLargestBatch = 65536;
  const int machine = topology.Cpus().Count();
  std::vector<std::string> models = arguments.models;
  if (models.empty()) {
    for (const ModelInfo& model : Models()) models.emplace_back(model.name);
  }
  std::vector<std::string> threads = arguments.threads;
  if (threads.empty()) threads = {std::to_string(machine)};
  EngineCell cell;
  if (!ParseMode(arguments.mode, &cell.mode))
    RefuseValue("--mode", arguments.mode, "infer or train");
  cell.deterministic = arguments.deterministic;
  if (!cell.deterministic && (arguments.inter == kAuto || arguments.split_grid)) {
    RefuseOption("--no-deterministic", "with splits that are tried",
                 "an --inter: each split would be measured with the making of its kernels");
  }
  cell.rates = KernelRatesOption(arguments.kernel_rates);
  std::vector<EngineCell> cells;
  for (const std::string& model : models) {
    cell.model = model;
    for (const std::string& batch : arguments.batches) {
      cell.batch = Parse("--batch", batch, 1, kLargestBatch);
      for (const std::string& count : threads) {
        cell.cores = FirstCores(topology, Parse("--threads", count, 1, machine));
        cell.auto_split = arguments.inter == kAuto;
        cell.split.inter =
            cell.auto_split ? cell.cores.Count()
                            : Parse("--inter", arguments.inter, 1, cell.cores.Count(), "auto, or ");
        cell.split.intra = cell.cores.Count();
        for (const std::string& precision : arguments.precisions) {
          cell.precision = ReadPrecision(precision);
          cells.push_back(cell);
        }
      }
    }
  }
  return cells;
}

std::vector<int> Capacities(const BenchArguments& arguments, const std::vector<EngineCell>& cells) {
  constexpr int kMost = 1024;
  int least = 1;
  for (const EngineCell& cell : cells) least = std::max(least, cell.cores.Count());
  std::vector<int> capacities;
  for (const std::string& capacity : arguments.capacities)
    capacities.push_back(Parse("--capacity", capacity, least, kMost));
  return capacities;
}

int BenchEngine(const BenchArguments& arguments) {
  const Topology topology = Topology::ThisMachine();
  BenchEngineOptions options;
  options.cells = Cells(arguments, topology);
  if (arguments.interactive) {
    if (options.cells.size() != 1) {
      RefuseOption("--interactive", "several cells",
                   "one --model, one --batch, one --threads and one --precision");
    }
    return RunBenchWorker(options.cells.front(), topology);
  }
  options.measure.repetitions = Parse("--repetitions", arguments.repetitions, 1, 10'000);
  options.measure.seconds = Parse("--seconds", arguments.seconds, 0.0, 1e6);
  options.measure.kernels = !arguments.speed_only;
  options.peak_seconds = arguments.speed_only ? 0 : 1;
  options.per_op = arguments.per_op;
  if (arguments.json) options.format = BenchEngineOptions::Format::kJson;
  if (arguments.csv) options.format = BenchEngineOptions::Format::kCsv;
  if (!arguments.capacities.empty())
    return RunBenchCapacities(options, Capacities(arguments, options.cells), topology);
  return arguments.split_grid ? RunBenchSplits(options, topology)
                              : RunBenchEngine(options, topology);
}

struct BenchServeArguments {
  std::string model = "empty";
  std::vector<std::string> rates = {"10000", "25000", "50000", "75000", "100000"};
  std::string seconds = "2";
  std::string max_batch = "64";
  std::string max_delay_ms = "0";
};

int BenchServe(const BenchServeArguments& arguments) {
  BenchServeOptions options;
  if (!IsModelName(arguments.model)) RefuseValue("--model", arguments.model, ModelNames());
  options.model = arguments.model;
  for (const std::string& rate : arguments.rates)
    options.rates.push_back(Parse("--rate", rate, 1.0, 1e7));
  options.seconds = Parse("--seconds", arguments.seconds, 0.01, 1e4);
  options.max_batch = Parse("--max-batch", arguments.max_batch, 1, 1'000);
  options.max_delay_ms = Parse("--max-delay-ms", arguments.max_delay_ms, 0.0, 1e3);
  return RunBenchServe(options, Topology::ThisMachine());
}

void AddBenchServe(CLI::App* bench, int* exit_code) {
  CLI::App* serve = bench->add_subcommand(
      "serve",
      "Requests a second through harness, socket, service and records, all on one core, beside a "
      "bare socket. It wants the machine for itself");
  const auto arguments = std::make_shared<BenchServeArguments>();
  serve->add_option("--model", arguments->model, "What answers")->capture_default_str();
  serve->add_option("--rate", arguments->rates, "Requests a second, each in a run of its own")
      ->delimiter(',')
      ->capture_default_str();
  serve->add_option("--seconds", arguments->seconds, "Of each run")->capture_default_str();
  serve->add_option("--max-batch", arguments->max_batch, "Requests answered at once, at most")
      ->capture_default_str();
  serve->add_option("--max-delay-ms", arguments->max_delay_ms, "How long fewer wait for more")
      ->capture_default_str();
  serve->callback([arguments, exit_code] { *exit_code = BenchServe(*arguments); });
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
  const auto list = [engine](const char* name, std::vector<std::string>* values, const char* help) {
    engine->add_option(name, *values, help)->delimiter(',');
  };
  list("--model", &arguments->models, "See `cosched list models`; default: all of them");
  list("--batch", &arguments->batches, "Images a step; default: 1");
  list("--threads", &arguments->threads, "Cores, one thread on each; default: all");
  engine->add_option("--mode", arguments->mode, "infer or train")->capture_default_str();
  list("--precision", &arguments->precisions, "Of images: f32 or bf16; default: f32");
  engine
      ->add_option("--inter", arguments->inter,
                   "Nodes that may run at once, or \"auto\": inter and intra as split = \"auto\" "
                   "chooses them "
                   "at the start")
      ->capture_default_str();
  AddDeterministicOption(engine, &arguments->deterministic);
  AddKernelRatesOption(engine, &arguments->kernel_rates);
  engine
      ->add_option("--repetitions", arguments->repetitions,
                   "Of each cell; what is told is their median")
      ->capture_default_str();
  engine->add_option("--seconds", arguments->seconds, "Of a repetition; at least one step")
      ->capture_default_str();
  CLI::Option* speed_only =
      engine->add_flag("--speed-only", arguments->speed_only, "Leave out what limits the speed");
  engine
      ->add_flag("--per-op", arguments->per_op,
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
  engine
      ->add_option("--capacity", arguments->capacities,
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
