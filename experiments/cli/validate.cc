#include "experiments/cli/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/read_number.h"
#include "experiments/analysis/decision_diff.h"
#include "experiments/analysis/estimate.h"
#include "experiments/analysis/step_validation.h"
#include "experiments/analysis/validation.h"
#include "experiments/cli/given_run.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/backend.h"
#include "experiments/config/option_refusal.h"
#include "experiments/launch/execute.h"
#include "experiments/launch/measured_cores.h"
#include "experiments/launch/plots.h"
#include "experiments/launch/trial_rounds.h"
#include "experiments/os/exit_code.h"
#include "experiments/records/manifest_file.h"
#include "experiments/records/output_file.h"

namespace cosched {
namespace {

constexpr int kBelowGate = 1;
// A bare --max-error is about these.
constexpr std::string_view kGated[] = {"makespan", "turnaround", "throughput"};

using Limits = std::map<size_t, double>;  // By metric, a share.

struct Gates {
  Limits max_error;         // Limits of a trace.
  Limits max_policy_error;  // Limits of each policy alone.
  std::optional<double> min_tau;
  std::optional<double> max_regret;
};

constexpr double kLargestShare = 100;

std::string MetricNames() {
  std::vector<std::string> names;
  for (const ValidatedMetric& metric : kMetrics) names.emplace_back(metric.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// "0.05" or "makespan=0.05".
void AddGate(const char* option, const std::string& text, Limits* limits) {
  const size_t equal = text.find('=');
  const bool bare = equal == std::string::npos;
  const std::string_view name = std::string_view(text).substr(0, bare ? 0 : equal);
  const std::string_view number = std::string_view(text).substr(bare ? 0 : equal + 1);
  const std::optional<double> share = ReadNumber<double>(number, 0, kLargestShare);
  if (!share) RefuseValue(option, number, NumbersAllowed(0.0, kLargestShare));
  bool known = false;
  for (size_t i = 0; i < kMetrics.size(); ++i) {
    const bool meant =
        bare ? std::find(std::begin(kGated), std::end(kGated), kMetrics[i].name) != std::end(kGated)
             : name == kMetrics[i].name;
    if (!meant) continue;
    // An option that names its metric counts more than one that means several.
    if (bare) limits->emplace(i, *share);
    if (!bare) (*limits)[i] = *share;
    known = true;
  }
  if (!known)
    RefuseOption(option, fmt::format("there is no metric \"{}\"", name),
                 fmt::format("SHARE or METRIC=SHARE with one of {}", MetricNames()));
}

Gates ReadGates(const ValidateArguments& arguments) {
  Gates gates;
  for (const std::string& text : arguments.max_error)
    AddGate("--max-error", text, &gates.max_error);
  for (const std::string& text : arguments.max_policy_error)
    AddGate("--max-policy-error", text, &gates.max_policy_error);
  gates.min_tau = arguments.min_tau;
  gates.max_regret = arguments.max_regret;
  return gates;
}

std::vector<std::string> WorldOverrides(const ValidateArguments& arguments, Backend backend) {
  std::vector<std::string> overrides = arguments.set;
  overrides.push_back(fmt::format("backend={}", ToString(backend)));
  if (!arguments.trials.empty()) overrides.push_back("trials=" + arguments.trials);
  if (!arguments.seed.empty()) overrides.push_back("seed=" + arguments.seed);
  if (arguments.extrapolate) overrides.push_back("simulation.extrapolate=true");
  if (!arguments.profile.empty()) {
    // The file's own paths are relative to it; one of the command line is not.
    overrides.push_back(
        fmt::format("machine.profile='{}'", std::filesystem::absolute(arguments.profile).string()));
  }
  return overrides;
}

// By trial: all that was drawn for it.
nlohmann::json Traces(const std::filesystem::path& run) {
  nlohmann::json trials = nlohmann::json::array();
  const std::optional<nlohmann::json> manifest = ReadManifest(run);
  if (!manifest) return trials;
  for (const char* drawn : {"traces", "requests", "clients"}) {
    const nlohmann::json of_trials = manifest->value(drawn, nlohmann::json::array());
    for (size_t trial = 0; trial < of_trials.size(); ++trial)
      trials[trial].push_back(of_trials[trial]);
  }
  return trials;
}

// The points of two runs, one beside the other; their jobs must be the same.
void AddPoints(const std::filesystem::path& measured, const std::filesystem::path& simulated,
               std::vector<ValidationRuns>* runs) {
  const std::vector<std::filesystem::path> a = PointFolders(measured), b = PointFolders(simulated);
  for (size_t i = 0; i < a.size(); ++i) {
    if (i >= b.size() || Traces(a[i]) != Traces(b[i])) {
      RefuseOption("--measured",
                   fmt::format("{} had other arrivals than the experiment", a[i].string()),
                   "a run of this experiment with these traces, seed and trials");
    }
    runs->push_back({a[i], b[i]});
  }
}

struct Ran {
  std::vector<ValidationRuns> runs;
  std::vector<ValidationRuns> again;  // Both on hardware.
  std::vector<std::filesystem::path> measured;
  bool interrupted = false;
};

// On hardware (or as measured before), then simulated.
Ran RunBoth(const ValidateArguments& arguments) {
  const Topology topology = Topology::ThisMachine();
  std::vector<std::pair<Sweep, Sweep>> sweeps;  // All are checked before any runs.
  for (const std::string& experiment : arguments.experiments) {
    sweeps.emplace_back(LoadSweep(experiment, WorldOverrides(arguments, Backend::kHardware),
                                  arguments.quick, topology),
                        LoadSweep(experiment, WorldOverrides(arguments, Backend::kSimulated),
                                  arguments.quick, topology));
  }
  for (const auto& [hardware, simulated] : sweeps) {
    if (HasSequentialTrials(hardware))
      RefuseOption("--trials", "is not given, and those of the experiment go on until they decide",
                   "a number of trials, which both worlds run");
  }
  Ran ran;
  for (size_t i = 0; i < sweeps.size() && !ran.interrupted; ++i) {
    const ExecuteOptions options{.results = arguments.out, .force = arguments.force};
    if (arguments.measured.empty()) {
      const Executed executed = arguments.resume ? ExecuteOrGoOn(sweeps[i].first, options, topology)
                                                 : Execute(sweeps[i].first, options, topology);
      ran.interrupted = executed.result.interrupted;
      ran.measured.push_back(executed.run);
    } else {
      ran.measured.push_back(GivenRun(arguments.measured[i]));
    }
    if (!ran.interrupted && arguments.again) {
      const Executed again = Execute(sweeps[i].first, options, topology);
      ran.interrupted = again.result.interrupted;
      if (!ran.interrupted) AddPoints(ran.measured.back(), again.run, &ran.again);
    }
    if (ran.interrupted) break;
    const Executed simulated = Execute(sweeps[i].second, options, topology);
    ran.interrupted = simulated.result.interrupted;
    if (!ran.interrupted) AddPoints(ran.measured.back(), simulated.run, &ran.runs);
  }
  return ran;
}

void PrintWhere(const ValidationRuns& runs) {
  const std::optional<nlohmann::json> manifest = ReadManifest(runs.measured);
  const auto seed = manifest && manifest->contains("experiment")
                        ? (*manifest)["experiment"].value("seed", uint64_t{0})
                        : 0;
  fmt::print(
      "measured:  {}\nsimulated: {}\n  seed {}; calibration draws no trace: it measures by "
      "fixed timetables\n",
      runs.measured.string(), runs.simulated.string(), seed);
}

// Then the intervals say nothing of other traces.
void PrintRepeated(const ValidationRuns& runs) {
  const nlohmann::json traces = Traces(runs.measured);
  const bool repeated =
      traces.size() > 1 && std::all_of(traces.begin(), traces.end(),
                                       [&](const auto& trace) { return trace == traces.front(); });
  if (repeated)
    fmt::print(
        "  every trial replays the same arrivals: the intervals are about this machine, not about "
        "other traces\n");
}

// The cell in which the worlds part after the fewest decisions.
void PrintFirstDifference(const Validation& validation, const std::vector<ValidationRuns>& runs) {
  const CellPair* first = nullptr;
  std::optional<DecisionDiff> earliest;
  for (const CellPair& pair : validation.pairs) {
    if (pair.decided_alike) continue;
    const ValidationRuns& of_pair = runs[static_cast<size_t>(pair.run)];
    const auto diff = FindFirstDifference(CellFolder(of_pair.measured, pair.key),
                                          CellFolder(of_pair.simulated, pair.key));
    if (earliest && diff->same >= earliest->same) continue;
    first = &pair;
    earliest = diff;
  }
  if (first == nullptr) {
    fmt::print("\nall decisions are alike in all cells\n");
    return;
  }
  const ValidationRuns& where = runs[static_cast<size_t>(first->run)];
  fmt::print("\nthe earliest decision that differs, {} (all of them: cosched diff {} {}):\n{}",
             ToString(first->key), where.measured.string(), where.simulated.string(),
             DiffText(*earliest, "measured", "simulated"));
}

// False if one is below.
bool CheckTau(const char* metric, const std::optional<RankingAgreement>& ranking, double min_tau) {
  if (!ranking) {
    fmt::print("gate: tau by {}: there is no ranking\n", metric);
    return false;
  }
  if (ranking->tau_of_means >= min_tau) {
    fmt::print("gate: tau of the means by {} {:.2f} >= {:g}: holds\n", metric,
               ranking->tau_of_means, min_tau);
    return true;
  }
  const bool excused = ranking->MeasuredCannotTell(min_tau);
  fmt::print("gate: tau of the means by {} {:.2f} < {:g}: {}\n", metric, ranking->tau_of_means,
             min_tau,
             excused ? "but the hardware itself can't rank these policies that well (above)"
                     : "does not hold");
  return excused;
}

// Each policy by its median over the traces.
bool CheckPolicies(const Validation& validation, size_t metric, double most) {
  bool hold = true;
  for (const PolicyErrors& policy : validation.policies) {
    const Estimate& error = policy.error[metric];
    const bool holds = std::abs(error.value) <= most;
    const bool decided = Decides(error) && (error.high < -most || error.low > most ||
                                            (error.low >= -most && error.high <= most));
    fmt::print("gate: error of {} {}, {}: {} %, at most {:g} %: {}{}\n", policy.policy,
               ToString(policy.elasticity), kMetrics[metric].title, PercentText(error, true),
               most * 100, holds ? "holds" : "does not hold",
               decided ? "" : ", though noise leaves the other answer open");
    hold = hold && holds;
  }
  return hold && !validation.policies.empty();
}

bool CheckRegret(const char* metric, const std::optional<RankingAgreement>& ranking, double most) {
  if (!ranking) {
    fmt::print("gate: regret by {}: there is no ranking\n", metric);
    return false;
  }
  const bool holds = ranking->told_regret <= most;
  fmt::print(
      "gate: regret by {} against policies that the hardware tells apart {:.1f} % {} {:g} "
      "%: {}{}\n",
      metric, ranking->told_regret * 100, holds ? "<=" : ">", most * 100,
      holds ? "holds" : "does not hold",
      ranking->told_apart > 0 ? "" : " (it tells none: no answer can be had)");
  return holds;
}

// Why a gate may be out of any model's reach.
std::string AgainText(const Validation& validation, size_t metric, double most) {
  if (!validation.again_absolute_error) return "";
  const double again = (*validation.again_absolute_error)[metric].value;
  return fmt::format(" (the hardware, run again, misses itself by {:.1f} %{})", again * 100,
                     again > most ? ": no answer can be had of the model" : "");
}

bool CheckGates(const Validation& validation, const Gates& gates) {
  bool hold = true;
  for (const auto& [metric, most] : gates.max_error) {
    const Estimate& error = validation.absolute_error[metric];
    const bool holds = error.samples > 0 && error.value <= most;
    fmt::print("gate: mean absolute error of a trace, {}: median {:.1f} % {} {:g} %: {}{}\n",
               kMetrics[metric].title, error.value * 100, holds ? "<=" : ">", most * 100,
               holds ? "holds" : "does not hold", AgainText(validation, metric, most));
    hold = hold && holds;
  }
  for (const auto& [metric, most] : gates.max_policy_error)
    hold = CheckPolicies(validation, metric, most) && hold;
  if (gates.max_regret) {
    hold = CheckRegret("makespan", validation.by_makespan, *gates.max_regret) && hold;
    hold = CheckRegret("mean turnaround", validation.by_turnaround, *gates.max_regret) && hold;
  }
  if (gates.min_tau) {
    hold = CheckTau("makespan", validation.by_makespan, *gates.min_tau) && hold;
    hold = CheckTau("mean turnaround", validation.by_turnaround, *gates.min_tau) && hold;
  }
  return hold;
}

}  // namespace

ValidationRun RunValidation(const ValidateArguments& arguments) {
  const Gates gates = ReadGates(arguments);
  if (!arguments.measured.empty() && arguments.measured.size() != arguments.experiments.size()) {
    RefuseOption("--measured", fmt::format("is given {} times", arguments.measured.size()),
                 "one run for each experiment, in their order");
  }
  const Ran ran = RunBoth(arguments);
  if (ran.interrupted) {
    fmt::print(stderr, "interrupted; whole cells are kept below {}\n", arguments.out);
    return {kInterrupted, {}};
  }
  Validation validation = Validate(ran.runs);
  if (!ran.again.empty()) AddAgain(ran.again, &validation);
  for (const ValidationRuns& runs : ran.runs) {
    PrintWhere(runs);
    PrintRepeated(runs);
  }
  fmt::print("\n{}{}", ValidationTable(validation), StepValidationTable(ran.runs));
  PrintFirstDifference(validation, ran.runs);
  fmt::print("\n");
  const std::filesystem::path& home = ran.measured.front();
  WriteFileWhole(home / "validation.json", ValidationJson(validation));
  if (!arguments.no_plots) DrawWith("validate", home);
  return {CheckGates(validation, gates) ? 0 : kBelowGate, home};
}

void AddValidateCommand(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand(
      "validate", "Run experiments on hardware and simulated, and say how far they agree");
  const auto arguments = std::make_shared<ValidateArguments>();
  command->add_option("EXPERIMENT", arguments->experiments, "Experiment files (.toml)")->required();
  command->add_option("--profile", arguments->profile,
                      "What the simulator knows (cosched calibrate); default: the file's "
                      "machine.profile");
  command
      ->add_option("--measured", arguments->measured,
                   "A run of the experiment on hardware, instead of a new one")
      ->allow_extra_args(false);
  command->add_option("--set", arguments->set, "Set any key of the files, in both worlds")
      ->allow_extra_args(false);
  command->add_option("--trials", arguments->trials, "Trials of each policy and elasticity");
  command->add_option("--seed", arguments->seed, "Seed of traces, order of cells and jobs");
  command->add_flag("--extrapolate", arguments->extrapolate,
                    "Simulate more than 4 times the cores that the profile was measured on");
  command
      ->add_option("--max-error", arguments->max_error,
                   "Exit 1 if a trace's mean absolute error (median over traces) is above SHARE "
                   "(makespan, turnaround and throughput), or METRIC=SHARE")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--max-policy-error", arguments->max_policy_error,
          "Exit 1 if the error of any policy alone (median over traces) is above SHARE, or "
          "METRIC=SHARE")
      ->allow_extra_args(false);
  AddNumber(command, "--max-regret", &arguments->max_regret, 0, kLargestShare,
            "Exit 1 if trusting the simulator costs more than this share against policies that "
            "the hardware tells apart");
  command->add_flag("--again", arguments->again,
                    "Run the hardware once more: what this machine misses itself by");
  AddNumber(command, "--min-tau", &arguments->min_tau, -1, 1,
            "Exit 1 if Kendall's tau of the policies' means is below, unless the hardware itself "
            "can't rank the policies that well");
  command->add_option("--out", arguments->out, "Results go to DIR/<experiment>/<run>")
      ->capture_default_str();
  command->add_flag("--quick", arguments->quick, "With the values of the files' [quick]");
  command->add_flag("--no-plots", arguments->no_plots, "Draw no plot at the end");
  AddForceFlag(command, &arguments->force);
  command->callback([arguments, exit_code] { *exit_code = RunValidation(*arguments).exit_code; });
}

}  // namespace cosched
