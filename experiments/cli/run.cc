#include "experiments/cli/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "engine/base/cpu_description.h"
#include "experiments/analysis/comparison.h"
#include "experiments/analysis/comparison_json.h"
#include "experiments/analysis/sweep_table.h"
#include "experiments/analysis/trial_metric.h"
#include "experiments/cli/gate_results.h"
#include "experiments/cli/json_output.h"
#include "experiments/cli/policy_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "experiments/config/toml_table.h"
#include "experiments/launch/dry_run.h"
#include "experiments/launch/execute.h"
#include "experiments/launch/finished_run.h"
#include "experiments/launch/local_cells.h"
#include "experiments/launch/measured_cores.h"
#include "experiments/launch/plots.h"
#include "experiments/launch/run_folder.h"
#include "experiments/launch/shipped_experiments.h"
#include "experiments/launch/slurm.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/realtime.h"
#include "experiments/records/manifest_file.h"
#include "experiments/records/output_file.h"

namespace cosched {
namespace {

constexpr int kMostAtATime = 4096;

struct RunArguments {
  std::string experiment;
  std::string backend;
  std::vector<std::string> policies;
  ExternalPolicyArguments external;
  std::vector<std::string> set;
  std::string trials;  // As text: the config's own check says what is allowed.
  std::string seed;
  std::string out = "results";
  std::string resume;  // "" = not given; "true", or "anyway".
  std::string redo_marked;
  bool slurm = false;
  std::string task;        // A Slurm array's task: the file of its cells.
  std::string machine_to;  // A job of Slurm's that tells what its node is: the file for that.
  std::optional<int> at_a_time;
  bool quick = false;
  bool dry_run = false;
  bool no_plots = false;
  std::string junit;
  bool interference = false;
  bool force = false;
  bool extrapolate = false;
  bool json = false;
};

// What the experiment itself would run.
std::vector<std::string> PoliciesOf(const TomlTable& root, bool quick) {
  const TomlTable values = root.Table("quick");
  return quick && values.Has("policies") ? values.Strings("policies") : root.Strings("policies");
}

std::vector<std::string> Overrides(const RunArguments& arguments, const TomlTable& file) {
  std::vector<std::string> overrides = arguments.set;
  if (!arguments.backend.empty()) overrides.push_back("backend=" + arguments.backend);
  if (!arguments.trials.empty()) overrides.push_back("trials=" + arguments.trials);
  if (!arguments.seed.empty()) overrides.push_back("seed=" + arguments.seed);
  std::vector<std::string> policies = arguments.policies;
  const std::vector<std::shared_ptr<const ExternalPolicy>> external =
      OpenExternalPolicies(arguments.external);
  if (policies.empty() && !external.empty())
    policies = PoliciesOf(file.With(overrides), arguments.quick);
  for (const auto& policy : external) {
    AddOverrides(*policy, &overrides);
    if (std::find(policies.begin(), policies.end(), policy->name) == policies.end())
      policies.push_back(policy->name);
  }
  if (!policies.empty()) {
    for (std::string& policy : policies) policy = TomlString(policy);
    overrides.push_back(fmt::format("policies=[{}]", fmt::join(policies, ",")));
  }
  if (arguments.interference) overrides.push_back("sampling.interference=true");
  if (arguments.extrapolate) overrides.push_back("simulation.extrapolate=true");
  return overrides;
}

// Exit code of the gates.
int TellComparison(const RunArguments& arguments, const Sweep& sweep, const Executed& executed) {
  const ComparisonReport report =
      sweep.IsSwept() ? SweepTable(PointFolders(executed.run)) : CompareRuns({executed.run}, {});
  fmt::print("{}\nresults: {}\n", report.text, executed.run.string());
  if (!arguments.no_plots) DrawPlots(executed.run);
  return TellGates(report.gates, arguments.junit);
}

// Exit code of the gates.
int PrintRunJson(const RunArguments& arguments, const FinishedRun& run, JsonOutput* output) {
  const Executed& executed = run.executed;
  ComparedRuns compared;
  if (!executed.result.interrupted && executed.whole > 0) {
    compared = CompareDocument({.runs = {executed.run}, .notes = {}}, {});
    if (!arguments.no_plots) DrawPlots(executed.run);
    WriteJUnit(compared.gates, arguments.junit);
  }
  const int gates = AnyGateFails(compared.gates) ? 1 : 0;
  output->Print(FinishedRunJson(run, compared.document, gates));
  return gates;
}

// One task of the array that --launcher slurm has submitted. Failures are in the records, which the
// launcher reads.
int RunTask(const RunArguments& arguments, const Sweep& sweep, const Topology& topology) {
  const std::filesystem::path file = arguments.task;
  const std::filesystem::path run = file.parent_path().parent_path();
  const SignalScope signals;
  const MeasuredCores cores(MeasuredCoresOf(sweep), topology,
                            std::filesystem::absolute(run).string(), arguments.force);
  std::optional<RealtimeScope> realtime;
  if (!AllSimulated(sweep)) realtime.emplace();
  const HarnessResult result =
      RunLocally(sweep, CellsOfTask(sweep, file),
                 {.run = run, .topology = topology, .at_a_time = 1, .marks = cores.marks()});
  return result.interrupted ? kInterrupted : 0;
}

// What --resume and --redo-marked ask for.
void ReadInto(const RunArguments& arguments, ExecuteOptions* options) {
  const bool redo = !arguments.redo_marked.empty();
  const std::string& how = redo ? arguments.redo_marked : arguments.resume;
  if (how.empty()) return;
  const char* option = redo ? "--redo-marked" : "--resume";
  if (redo && !arguments.resume.empty())
    RefuseOption(option, "is given beside --resume",
                 "one of the two: an unfinished run is resumed first");
  if (redo && options->slurm)
    RefuseOption(option, "is given beside --launcher slurm", "--launcher local");
  if (how != "true" && how != "anyway")
    RefuseOption(option, fmt::format("is \"{}\"", how), fmt::format("{0}, or {0}=anyway", option));
  options->into = redo ? Into::kMarkedRun : Into::kUnfinishedRun;
  if (how == "anyway") options->on_difference = OnDifference::kRecord;
}

// [policy.mine] with a library or program makes a policy known; `policies` says which run.
void TellIdlePolicies(const ExperimentConfig& config) {
  for (const auto& [name, policy] : config.external_policies) {
    const auto& run = config.policies;
    if (std::find(run.begin(), run.end(), name) == run.end())
      fmt::print(stderr, "policy.{} is not among the policies: it does not run\n", name);
  }
}

// Tasks of an array have a node each.
void RefuseSlurmInSlurm(const RunArguments& arguments, const Sweep& sweep) {
  const bool on_nodes =
      std::any_of(sweep.points.begin(), sweep.points.end(),
                  [](const SweepPoint& point) { return point.config.backend == Backend::kSlurm; });
  if (arguments.slurm && on_nodes)
    RefuseOption("--launcher slurm", "is given with backend = \"slurm\"",
                 "--launcher local, in a job with all nodes of the experiment");
}

// An experiment on the machine that it is for.
struct Planned {
  Topology machine;
  Sweep sweep;
  std::string cpu = {}, kernel = {};  // Where it is another than this one.
};

bool IsChosen(const TomlTable& file, const std::vector<std::string>& overrides, const char* key) {
  const TomlTable with = file.With(overrides);
  return with.Has("machine") && with.Table("machine").Has(key);
}

// What a task loads is what was planned, on whatever machine; it measures on such a one only.
Planned LoadTask(const RunArguments& arguments, const TomlTable& file, const Topology& here) {
  const NodeFacts planned = NodeOfTask(arguments.task);
  const bool is_like = planned.topology.IsLike(here);
  std::vector<std::string> overrides = Overrides(arguments, file);
  if (!planned.kernel_rates.empty() && !IsChosen(file, overrides, "kernel_rates"))
    overrides.push_back("machine.kernel_rates=" + planned.kernel_rates);
  Sweep sweep = LoadSweep(file, overrides, arguments.quick, is_like ? here : planned.topology);
  if (!AllSimulated(sweep) && (!is_like || planned.cpu != ThisCpuModel())) {
    RefuseOption(
        "--task",
        fmt::format("this node has CPUs {} ({}, {}), the run was planned for {} ({}, {})",
                    here.Cpus().ToString(), ThisCpuModel(), here.Summary(),
                    planned.topology.Cpus().ToString(), planned.cpu, planned.topology.Summary()),
        "nodes of one kind: SBATCH_CONSTRAINT, SBATCH_PARTITION or SBATCH_NODELIST choose");
  }
  return {here, std::move(sweep)};
}

// What this machine refuses may be right on a node: it has other cores, and other rights.
bool DependsOnMachine(const InputError& error) {
  const std::string& key = error.details().key;
  if (key.starts_with("policies.")) return !WhyNot(Actuator::kQuota).empty();  // Shares are quotas.
  return std::ranges::any_of(
      std::array{"cores", "actuator", "machine.memory", "machine.nodes", ".ranks"},
      [&key](const char* part) { return key.find(part) != std::string::npos; });
}

Planned LoadForNode(const RunArguments& arguments, const TomlTable& file, NodeFacts node) {
  std::vector<std::string> overrides = Overrides(arguments, file);
  if (!IsChosen(file, overrides, "actuator") && node.actuator != Actuator::kAffinity)
    overrides.push_back(fmt::format("machine.actuator={}", ToString(node.actuator)));
  if (!IsChosen(file, overrides, "kernel_rates"))
    overrides.push_back("machine.kernel_rates=" + node.kernel_rates);
  Sweep sweep = LoadSweep(file, overrides, arguments.quick, node.topology);
  RefuseSlurmInSlurm(arguments, sweep);
  return {std::move(node.topology), std::move(sweep), node.cpu, node.kernel};
}

// As the run that --resume goes on with was planned: any other node may be of another kind.
std::optional<Planned> LoadForNodesOfBegun(const RunArguments& arguments, const TomlTable& file) {
  const std::string experiment = file.With(Overrides(arguments, file)).String("name");
  for (const std::filesystem::path& run : UnfinishedRuns(arguments.out, experiment)) {
    try {
      std::optional<NodeFacts> node = NodePlannedFor(run);
      if (!node || node->kernel_rates.empty()) continue;
      Planned planned = LoadForNode(arguments, file, std::move(*node));
      if (IsRunOf(run, planned.sweep)) return planned;
    } catch (const InputError&) {
      continue;  // What is planned anew tells what is wrong, if it still is.
    }
  }
  return std::nullopt;
}

// Cells that measure and that Slurm runs are planned for one of its nodes, which need not be like
// this machine. nullopt: interrupted while no node was free.
std::optional<Planned> LoadForNodes(const RunArguments& arguments, const TomlTable& file,
                                    const Topology& here) {
  try {
    Sweep sweep = LoadSweep(file, Overrides(arguments, file), arguments.quick, here);
    RefuseSlurmInSlurm(arguments, sweep);
    if (arguments.dry_run && !AllSimulated(sweep))
      fmt::print(stderr,
                 "as on this machine; cells that measure are planned for a node of Slurm's\n");
    if (AllSimulated(sweep) || arguments.dry_run) return Planned{here, std::move(sweep)};
  } catch (const InputError& error) {
    if (arguments.dry_run || !DependsOnMachine(error)) throw;
  }
  if (!arguments.resume.empty()) {
    if (std::optional<Planned> begun = LoadForNodesOfBegun(arguments, file)) return begun;
  }
  const SignalScope signals;
  std::optional<NodeFacts> node = NodeOfSlurm(CommandLine(), arguments.out);
  if (!node) return std::nullopt;
  return LoadForNode(arguments, file, std::move(*node));
}

std::optional<Planned> Load(const RunArguments& arguments) {
  TomlTable file = TomlTable::Load(ExperimentFile(arguments.experiment), {});
  if (arguments.dry_run && !file.Table("machine").Has("kernel_rates"))
    file = file.With({fmt::format("machine.kernel_rates={}", kKeptRates)});
  const Topology here = Topology::ThisMachine();
  if (!arguments.task.empty()) return LoadTask(arguments, file, here);
  if (arguments.slurm) return LoadForNodes(arguments, file, here);
  return Planned{here, LoadSweep(file, Overrides(arguments, file), arguments.quick, here)};
}

// What goes on with a run chooses kernels as that does, also where this machine's rates have been
// measured once more since (engine/kernels/kept_kernel_rates.h): as --resume loads it.
std::optional<Planned> LoadAsBegun(RunArguments arguments, const ExecuteOptions& options) {
  std::optional<Planned> planned = Load(arguments);
  if (!planned || options.into == Into::kNewRun || AllSimulated(planned->sweep)) return planned;
  const TomlTable file = TomlTable::Load(ExperimentFile(arguments.experiment), {});
  if (IsChosen(file, arguments.set, "kernel_rates")) return planned;
  const std::string rates =
      KernelRatesOfLatest(options.results, planned->sweep, options.into == Into::kUnfinishedRun);
  if (rates.empty() || rates == ToString(planned->sweep.points.front().config.kernel_rates))
    return planned;
  arguments.set.push_back("machine.kernel_rates=" + rates);
  return Load(arguments);
}

int TellMachine(const std::string& to) {
  WriteFileWhole(to, NodeFactsOfThisMachine());
  return 0;
}

int RunExperiment(const RunArguments& arguments) {
  if (!arguments.machine_to.empty()) return TellMachine(arguments.machine_to);
  ExecuteOptions options = {.results = arguments.out,
                            .slurm = arguments.slurm,
                            .force = arguments.force,
                            .at_a_time = arguments.at_a_time.value_or(0)};
  ReadInto(arguments, &options);
  JsonOutput output(arguments.json);
  const auto started = std::chrono::steady_clock::now();
  const std::optional<Planned> planned = LoadAsBegun(arguments, options);
  if (!planned) {
    const std::string problem = "interrupted: there was no node yet to plan for";
    fmt::print(stderr, "{}\n", problem);
    if (arguments.json) output.Print(ErrorJson(std::runtime_error(problem), kInterrupted));
    return kInterrupted;
  }
  const auto& [topology, sweep, cpu, kernel] = *planned;
  options.cpu = cpu;
  options.kernel = kernel;
  TellIdlePolicies(sweep.points.front().config);
  for (const SweepPoint& point : sweep.points) CheckMetricNames(point.config);
  if (!arguments.junit.empty() && sweep.points.front().config.gates.empty())
    RefuseOption("--junit", kNoGates, kWantedGates);
  if (arguments.dry_run) {
    fmt::print("{}", DryRunText(sweep));
    return 0;
  }
  if (!arguments.task.empty()) return RunTask(arguments, sweep, topology);
  const Executed executed = Execute(sweep, options, topology);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  int gates = 0;
  if (arguments.json) {
    gates = PrintRunJson(arguments, ReadFinishedRun(sweep, executed, took.count()), &output);
  } else if (!executed.result.interrupted) {
    gates = TellComparison(arguments, sweep, executed);
  }
  fmt::print(stderr, "{}", ProblemsText(sweep, executed, options));
  return std::max(ExitCodeOf(executed), gates);
}

}  // namespace

void AddRunCommand(CLI::App& app, int* exit_code) {
  CLI::App* run = app.add_subcommand(
      "run", "Run an experiment file, compare its policies and plot the comparison");
  const auto arguments = std::make_shared<RunArguments>();
  run->add_option("experiment", arguments->experiment,
                  "The experiment file (.toml), or a name of `cosched list experiments`")
      ->required();
  run->add_option("--policy", arguments->policies, "Run this policy only (may be repeated)")
      ->allow_extra_args(false);
  AddExternalPolicyOptions(run, &arguments->external);
  run->add_option("--trials", arguments->trials, "Trials of each policy and elasticity");
  run->add_option("--seed", arguments->seed, "Seed of traces, order of cells and jobs");
  run->add_option("--set", arguments->set,
                  "Set any key of the file, e.g. trace.jobs=4 or workload.resnet20.steps=10")
      ->allow_extra_args(false);
  run->add_option("--backend", arguments->backend,
                  "Where tenants run: hardware, container, slurm (the nodes of this job) or "
                  "simulated");
  // The last one counts: quickstart.sh names a folder, and its caller may name another.
  run->add_option("--out", arguments->out, "Results go to DIR/<experiment>/<run>")
      ->take_last()
      ->capture_default_str();
  AddChoice(
      run, "--launcher", &arguments->slurm, {{"local", false}, {"slurm", true}},
      "Who runs the cells; slurm: one job array, the results folder must be the same on every "
      "node");
  run->add_option("--task", arguments->task)->group("");              // Slurm's tasks only.
  run->add_option("--machine-to", arguments->machine_to)->group("");  // And its jobs.
  AddNumber(run, "--jobs", &arguments->at_a_time, 1, kMostAtATime,
            "Cells at a time: simulated ones (default: as many as there are CPUs), or Slurm's "
            "tasks");
  run->add_flag("--resume", arguments->resume,
                "Run only what the latest unfinished run of this experiment lacks; refused if "
                "binary, machine or files have changed, unless --resume=anyway");
  run->add_flag("--redo-marked", arguments->redo_marked,
                "Run the marked and failed cells of the latest run of this experiment anew, in "
                "their place; refused as --resume is, unless --redo-marked=anyway");
  run->add_flag("--extrapolate", arguments->extrapolate,
                "Simulate more than 4 times the cores that the profile was measured on");
  AddForceFlag(run, &arguments->force);
  run->add_flag("--quick", arguments->quick, "With the values of the file's [quick]");
  run->add_flag("--interference", arguments->interference,
                "Also record who made whose threads wait (cosched compare --interference)");
  CLI::Option* dry_run = run->add_flag(
      "--dry-run", arguments->dry_run,
      "Check everything, print every key with its value, what would run, its expected time and "
      "disk; run nothing");
  run->add_option("--junit", arguments->junit, kJUnitMeaning);
  run->add_flag("--no-plots", arguments->no_plots, "Draw no plots at the end");
  AddJsonFlag(run, &arguments->json, "run.schema")->excludes(dry_run);
  run->callback([arguments, exit_code] { *exit_code = RunExperiment(*arguments); });
}

}  // namespace cosched
