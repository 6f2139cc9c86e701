#include "experiments/cli/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>

#include "engine/base/error.h"
#include "experiments/cli/plots.h"
#include "experiments/cli/progress.h"
#include "experiments/comparison.h"
#include "experiments/harness.h"
#include "experiments/manifest.h"
#include "experiments/metrics.h"
#include "experiments/realtime.h"

namespace cosched {
namespace {

constexpr int kSomeFailed = 1;
constexpr int kInterrupted = 130;

struct RunArguments {
  std::string experiment;
  std::string backend;
  std::vector<std::string> policies;
  std::vector<std::string> set;
  std::string trials;  // As text: the config's own check says what is allowed.
  std::string seed;
  std::string out = "results";
  bool resume = false;
  bool dry_run = false;
  bool no_plots = false;
};

// Set by the first signal; the only state here that is not a command's own.
volatile std::sig_atomic_t interrupted = 0;

// The first SIGINT or SIGTERM ends the run in order, the second one ends this process at once; the
// tenants die with it.
class SignalScope {
 public:
  SignalScope() {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) {
      interrupted = 1;
      std::signal(SIGINT, SIG_DFL);
      std::signal(SIGTERM, SIG_DFL);
    };
    sigaction(SIGINT, &action, &old_interrupt_);
    sigaction(SIGTERM, &action, &old_terminate_);
  }
  ~SignalScope() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  struct sigaction old_interrupt_ = {};
  struct sigaction old_terminate_ = {};
};

std::vector<std::string> Overrides(const RunArguments& arguments) {
  std::vector<std::string> overrides = arguments.set;
  if (!arguments.backend.empty()) overrides.push_back("backend=" + arguments.backend);
  if (!arguments.trials.empty()) overrides.push_back("trials=" + arguments.trials);
  if (!arguments.seed.empty()) overrides.push_back("seed=" + arguments.seed);
  if (!arguments.policies.empty()) {
    std::vector<std::string> quoted;
    for (const std::string& policy : arguments.policies) quoted.push_back("'" + policy + "'");
    overrides.push_back(fmt::format("policies=[{}]", fmt::join(quoted, ",")));
  }
  return overrides;
}

std::string ShellQuoted(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// As it was typed, for the manifest and for the message that says how to go on.
std::string CommandLine() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::string line;
  for (std::string word; std::getline(stream, word, '\0');)
    line += (line.empty() ? "" : " ") + ShellQuoted(word);
  return line;
}

std::string ResumeCommand(const RunArguments& arguments) {
  return CommandLine() + (arguments.resume ? "" : " --resume");
}

void PrintPlan(const ExperimentConfig& config, const Plan& plan) {
  fmt::print(
      "{}: {} cells = {} policies x {} elasticities x {} trials, {} jobs each, on cores {}\n",
      config.name, plan.cells.size(), config.policies.size(), config.elasticities.size(),
      config.trials, plan.traces.front().size(), config.cores.ToString());
  for (size_t trial = 0; trial < plan.traces.size(); ++trial) {
    fmt::print("\ntrial {}: arrivals\n", trial + 1);
    fmt::print("  {:>10}  {:<16} {:>6}  {:<15} {:>8}\n", "arrival_s", "workload", "steps",
               "min/pref/max", "priority");
    for (size_t index = 0; index < plan.traces[trial].size(); ++index) {
      const Arrival& arrival = plan.traces[trial][index];
      const Job job = JobOf(config, arrival, static_cast<int64_t>(index), Elasticity::kMalleable);
      const TenantSpec spec =
          SpecOf(config, arrival, static_cast<int64_t>(index), static_cast<int>(trial) + 1);
      fmt::print("  {:>10.3f}  {:<16} {:>6}  {:<15} {:>8}\n", ToSeconds(arrival.time), job.workload,
                 spec.steps,
                 fmt::format("{}/{}/{}", job.request.min, job.request.preferred, job.request.max),
                 job.priority);
    }
  }
  fmt::print("\norder of cells (policy/elasticity/trial)\n");
  for (const CellKey& key : plan.cells) fmt::print("  {}\n", ToString(key));
}

std::vector<CellKey> MissingCells(const std::filesystem::path& run, const Plan& plan) {
  const std::vector<CellKey> whole = WholeCells(run);
  std::vector<CellKey> missing;
  std::copy_if(plan.cells.begin(), plan.cells.end(), std::back_inserter(missing),
               [&whole](const CellKey& key) {
                 return std::find(whole.begin(), whole.end(), key) == whole.end();
               });
  return missing;
}

// Runs what is missing. A full disk is told with what to do about it.
HarnessResult RunMissing(const RunArguments& arguments, const ExperimentConfig& config,
                         const Plan& plan, const std::filesystem::path& run,
                         const Topology& topology) {
  const std::vector<CellKey> missing = MissingCells(run, plan);
  ProgressLine progress(plan.cells.size() - missing.size(), plan.cells.size());
  const SignalScope signals;
  const HarnessOptions options = {.run = run,
                                  .topology = topology,
                                  .make_world = ProcessWorlds(ThisBinary(), topology),
                                  .interrupted = [] { return interrupted != 0; },
                                  .progress = &progress};
  try {
    return RunCells(config, plan, missing, options);
  } catch (const OutputError& error) {
    throw OutputError(
        fmt::format("{}\nwhole cells are kept in {}; once it can be written to, continue with: {}",
                    error.what(), run.string(), ResumeCommand(arguments)));
  }
}

int TellInterrupted(const RunArguments& arguments, const std::filesystem::path& run,
                    const Plan& plan) {
  const size_t whole = plan.cells.size() - MissingCells(run, plan).size();
  if (whole > 0) WriteSummary(run);
  fmt::print(stderr, "interrupted: {} of {} cells are kept in {}; continue with: {}\n", whole,
             plan.cells.size(), run.string(), ResumeCommand(arguments));
  return kInterrupted;
}

int TellFinished(const RunArguments& arguments, const HarnessResult& result,
                 const std::filesystem::path& run) {
  WriteSummary(run);
  fmt::print("{}\nresults: {}\n", ComparisonTable({run}), run.string());
  if (!arguments.no_plots) DrawPlots(run);
  if (result.failed > 0)
    fmt::print(stderr, "{} cells failed; their cell.json says why\n", result.failed);
  if (result.with_failures > 0) {
    fmt::print(
        stderr,
        "jobs failed in {} cells; their jobs.csv says why, beside it tenant-*.log what they said\n",
        result.with_failures);
  }
  return result.failed + result.with_failures > 0 ? kSomeFailed : 0;
}

int RunExperiment(const RunArguments& arguments) {
  const Topology topology = Topology::ThisMachine();
  const ExperimentConfig config = LoadConfig(arguments.experiment, Overrides(arguments), topology);
  const Plan plan = MakePlan(config);
  if (arguments.dry_run) {
    PrintPlan(config, plan);
    return 0;
  }
  // Ends before the comparison and the plots, which are in nobody's way.
  auto realtime = std::make_unique<RealtimeScope>();
  const RunContext context = {
      .topology = topology, .command_line = CommandLine(), .scheduling = realtime->description()};
  RunFolder folder = arguments.resume ? RunFolder::Resume(arguments.out, config, plan, context)
                                      : RunFolder::Create(arguments.out, config, plan, context);
  const HarnessResult result = RunMissing(arguments, config, plan, folder.path(), topology);
  realtime.reset();
  if (result.interrupted) return TellInterrupted(arguments, folder.path(), plan);
  folder.Finish(result.failed > 0 ? "failed" : "done");
  return TellFinished(arguments, result, folder.path());
}

}  // namespace

void AddRunCommand(CLI::App& app, int* exit_code) {
  CLI::App* run = app.add_subcommand(
      "run", "Run an experiment file, compare its policies and plot the comparison");
  const auto arguments = std::make_shared<RunArguments>();
  run->add_option("experiment", arguments->experiment, "The experiment file (.toml)")->required();
  run->add_option("--policy", arguments->policies, "Run this policy only (may be repeated)")
      ->allow_extra_args(false);
  run->add_option("--trials", arguments->trials, "Trials of each policy and elasticity");
  run->add_option("--seed", arguments->seed, "Seed of traces, order of cells and jobs");
  run->add_option("--set", arguments->set,
                  "Set any key of the file, e.g. trace.jobs=4 or workload.resnet20.steps=10")
      ->allow_extra_args(false);
  run->add_option("--backend", arguments->backend, "Where tenants run: hardware");
  // The last one counts: quickstart.sh names a folder, and its caller may name another.
  run->add_option("--out", arguments->out, "Results go to DIR/<experiment>/<run>")
      ->take_last()
      ->capture_default_str();
  run->add_flag("--resume", arguments->resume,
                "Run only what the latest unfinished run of this experiment lacks");
  run->add_flag("--dry-run", arguments->dry_run,
                "Check everything, print what would run, run nothing");
  run->add_flag("--no-plots", arguments->no_plots, "Draw no plots at the end");
  run->callback([arguments, exit_code] { *exit_code = RunExperiment(*arguments); });
}

}  // namespace cosched
