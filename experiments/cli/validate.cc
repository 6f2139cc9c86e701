#include "experiments/cli/validate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "experiments/analysis/validation.h"
#include "experiments/cli/given_run.h"
#include "experiments/cli/json_output.h"
#include "experiments/cli/policy_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/cli/validation_gates.h"
#include "experiments/cli/validation_report.h"
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

std::vector<std::string> WorldOverrides(const ValidateArguments& arguments, Backend backend) {
  std::vector<std::string> overrides = arguments.set;
  overrides.push_back(fmt::format("backend={}", ToString(backend)));
  if (!arguments.trials.empty()) overrides.push_back("trials=" + arguments.trials);
  if (!arguments.seed.empty()) overrides.push_back("seed=" + arguments.seed);
  if (arguments.extrapolate) overrides.push_back("simulation.extrapolate=true");
  if (!arguments.profile.empty()) {
    // The file's own paths are relative to it; one of the command line is not.
    overrides.push_back("machine.profile=" +
                        TomlString(std::filesystem::absolute(arguments.profile).string()));
  }
  return overrides;
}

// The points of two runs, one beside the other; their jobs must be the same.
void AddPoints(const std::filesystem::path& measured, const std::filesystem::path& simulated,
               std::vector<ValidationRuns>* runs) {
  const std::vector<std::filesystem::path> a = PointFolders(measured), b = PointFolders(simulated);
  for (size_t i = 0; i < a.size(); ++i) {
    if (i >= b.size() || TracesOf(a[i]) != TracesOf(b[i])) {
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

}  // namespace

ValidationRun RunValidation(const ValidateArguments& arguments) {
  const ValidationLimits limits = ReadValidationLimits(arguments);
  if (!arguments.measured.empty() && arguments.measured.size() != arguments.experiments.size()) {
    RefuseOption("--measured", fmt::format("is given {} times", arguments.measured.size()),
                 "one run for each experiment, in their order");
  }
  JsonOutput output(arguments.json);
  const Ran ran = RunBoth(arguments);
  if (ran.interrupted) {
    const std::string problem =
        fmt::format("interrupted; whole cells are kept below {}", arguments.out);
    fmt::print(stderr, "{}\n", problem);
    if (arguments.json) output.Print(ErrorJson(std::runtime_error(problem), kInterrupted));
    return {kInterrupted, {}};
  }
  const ValidationReport report = MakeValidationReport(ran.runs, ran.again, limits);
  const int exit_code = AllHold(report.gates) ? 0 : kBelowGate;
  const std::filesystem::path& home = ran.measured.front();
  WriteFileWhole(home / "validation.json", ValidationJson(report.validation).dump(2) + "\n");
  if (!arguments.json) fmt::print("{}", ValidationReportText(report));
  if (!arguments.no_plots) DrawWith("validate", home);
  if (arguments.json) output.Print(ValidationReportJson(report, exit_code));
  return {exit_code, home};
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
  AddNumber(command, "--max-regret", &arguments->max_regret, 0, kLargestGate,
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
  AddJsonFlag(command, &arguments->json, "validate.schema");
  AddForceFlag(command, &arguments->force);
  command->callback([arguments, exit_code] { *exit_code = RunValidation(*arguments).exit_code; });
}

}  // namespace cosched
