#include "experiments/cli/replay.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "engine/base/error.h"
#include "experiments/analysis/decision_diff.h"
#include "experiments/analysis/metrics.h"
#include "experiments/cli/given_run.h"
#include "experiments/cli/policy_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/option_refusal.h"
#include "experiments/launch/execute.h"
#include "experiments/launch/replay.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/scratch_folder.h"

namespace cosched {
namespace {

constexpr int kNothingCompared = 1;

struct ReplayArguments {
  std::string results;
  std::string policy;
  std::string recorded;
  std::optional<double> from;  // When the other policy takes over; nullopt: from the start.
  std::string profile;
  std::vector<std::string> set;
  ExternalPolicyArguments external;
  bool extrapolate = false;
  std::vector<std::string> outside;  // Their names.
  std::string out = "results";

  bool IsFromOutside() const {
    return std::find(outside.begin(), outside.end(), policy) != outside.end();
  }
};

// The policy that is followed up to --from.
std::string Before(const ExperimentConfig& config, const ReplayArguments& arguments) {
  std::string before = arguments.recorded;
  for (const std::string& policy : config.policies) {
    if (policy == arguments.policy || policy == before) continue;
    if (!before.empty())
      RefuseOption("--from", "follows one recorded policy, and the run had several",
                   "with --recorded POLICY");
    before = policy;
  }
  if (before.empty()) before = arguments.policy;
  const bool twice = config.FindPolicy(before)->oversubscribes;
  if (twice && !config.FindPolicy(arguments.policy)->oversubscribes) {
    RefuseOption("--policy",
                 fmt::format("{} grants a core twice, and {} may not start from that", before,
                             arguments.policy),
                 "a policy that oversubscribes too, or without --from");
  }
  return before;
}

// The state at that moment, recorded and simulated: how far the start is what it says.
void PrintState(const std::filesystem::path& recorded, const std::filesystem::path& run,
                const std::string& policy, double from_s) {
  for (const CellKey& key : WholeCells(run)) {
    if (key.policy != policy) continue;
    const DiffSide in_record = ViewAt(CellFolder(recorded, key), from_s);
    if (!in_record.decision) {
      fmt::print("{}: no decision was recorded at or after {:g} s\n", ToString(key), from_s);
      continue;
    }
    fmt::print("{}: the first decision from {:g} s on\n{}\n", ToString(key), from_s,
               SidesText(in_record, ViewAt(CellFolder(run, key), from_s), "recorded", "its twin"));
    return;  // A single cell shows how it is; the others are in the records.
  }
}

// Makes policies from outside known to the experiment; a single one needs no --policy.
void AddExternalPolicies(ReplayArguments* arguments) {
  const std::vector<std::shared_ptr<const ExternalPolicy>> external =
      OpenExternalPolicies(arguments->external);
  for (const auto& policy : external) {
    AddOverrides(*policy, &arguments->set);
    arguments->outside.push_back(policy->name);
  }
  if (arguments->policy.empty() && external.size() == 1) arguments->policy = external.front()->name;
  if (arguments->policy.empty())
    RefuseOption("--policy", "is required",
                 "a policy of `cosched list policies`, or one from outside");
}

int Replay(ReplayArguments arguments) {
  AddExternalPolicies(&arguments);
  if (arguments.extrapolate) arguments.set.emplace_back("simulation.extrapolate=true");
  const std::optional<double>& from = arguments.from;
  const Topology topology = Topology::ThisMachine();
  arguments.results = GivenRun(arguments.results).string();
  const ScratchFolder scratch;
  const Sweep sweep = LoadReplay({.recorded = arguments.results,
                                  .recorded_policy = arguments.recorded,
                                  .policy = arguments.policy,
                                  .profile = arguments.profile,
                                  .set = arguments.set,
                                  .policy_is_set = arguments.IsFromOutside()},
                                 scratch.path(), topology);
  const ExperimentConfig& config = sweep.points.front().config;
  ExecuteOptions options{.results = arguments.out};
  if (from) {
    const std::string before = Before(config, arguments);
    options.make_policy = [&, before](const std::string& name) {
      if (name != arguments.policy || name == before) return config.NewPolicy(name);
      return SwitchAt(*from, config.NewPolicy(before), config.NewPolicy(name));
    };
  }
  const Executed executed = Execute(sweep, options, topology);
  if (executed.result.interrupted) {
    fmt::print(stderr, "interrupted; whole cells are kept in {}\n", executed.run.string());
    return kInterrupted;
  }
  const auto results =
      CompareReplay(arguments.results, executed.run, executed.run, arguments.policy);
  if (from) PrintState(arguments.results, executed.run, Before(config, arguments), *from);
  fmt::print("{}\nsimulated: {}\n", ReplayTable(results, arguments.policy), executed.run.string());
  int trials = 0;
  for (const Counterfactual& result : results) trials += result.trials;
  return trials > 0 ? 0 : kNothingCompared;
}

}  // namespace

void AddReplayCommand(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand(
      "replay", "Simulate a recorded run's arrivals under another policy, beside the run's twin");
  const auto arguments = std::make_shared<ReplayArguments>();
  command
      ->add_option("RESULTS", arguments->results,
                   "The run: results/<experiment>/<run>, or an experiment for its newest")
      ->required();
  command->add_option("--policy", arguments->policy, "What is to decide instead");
  AddExternalPolicyOptions(command, &arguments->external);
  command->add_option("--recorded", arguments->recorded,
                      "Instead of which policy of the run; default: of each");
  AddNumber(command, "--from", &arguments->from, 0, std::numeric_limits<double>::max(),
            "Only from the first decision at or after so many seconds",
            "seconds since the start of the run");
  command->add_option("--profile", arguments->profile,
                      "What the simulator knows (cosched calibrate); default: the run's");
  command->add_flag("--extrapolate", arguments->extrapolate,
                    "Simulate more than 4 times the cores that the profile was measured on");
  command
      ->add_option("--set", arguments->set,
                   "Set any key of the experiment, e.g. simulation.noise=0")
      ->allow_extra_args(false);
  command
      ->add_option("--out", arguments->out, "Simulated cells go to DIR/<experiment>-replay/<run>")
      ->capture_default_str();
  command->callback([arguments, exit_code] { *exit_code = Replay(*arguments); });
}

}  // namespace cosched
