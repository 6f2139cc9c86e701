#include "experiments/cli/profile.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/profile_comparison.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/validation.h"
#include "experiments/cli/policy_options.h"
#include "experiments/config/backend.h"
#include "experiments/config/option_refusal.h"
#include "experiments/config/sweep.h"
#include "experiments/launch/execute.h"
#include "experiments/launch/trial_rounds.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/scratch_folder.h"
#include "experiments/records/manifest_file.h"

namespace cosched {
namespace {

struct ProfileArguments {
  std::filesystem::path a, b;
  std::string experiment;
};

using MakespansByPolicy = std::map<std::string, std::vector<double>>;

// The experiment in the simulator that knows this profile.
Sweep LoadSimulated(const std::string& experiment, const std::filesystem::path& profile) {
  const std::vector<std::string> overrides = {
      fmt::format("backend={}", ToString(Backend::kSimulated)),
      "machine.profile=" + TomlString(std::filesystem::absolute(profile).string())};
  Sweep sweep = LoadSweep(experiment, overrides, false, Topology::ThisMachine());
  // Each profile would have as many as decide its own.
  if (HasSequentialTrials(sweep)) {
    RefuseOption("--experiment",
                 fmt::format("{} has trials that go on until they decide", experiment),
                 "an experiment with a number of trials");
  }
  return sweep;
}

// nullopt: interrupted.
std::optional<MakespansByPolicy> Simulate(const Sweep& sweep) {
  const ScratchFolder scratch;
  const Executed executed = Execute(sweep, {.results = scratch.path()}, Topology::ThisMachine());
  if (executed.result.interrupted) return std::nullopt;
  MakespansByPolicy makespans;
  for (const std::filesystem::path& point : PointFolders(executed.run)) {
    for (const CellKey& key : WholeCells(point)) {
      makespans[fmt::format("{} {}", key.policy, ToString(key.elasticity))].push_back(
          ReadOutcome(point, key).outcome.makespan_s);
    }
  }
  return makespans;
}

// By policy, over the traces.
std::string PredictionText(const MakespansByPolicy& a, const MakespansByPolicy& b) {
  std::string text = fmt::format("{:<32} {:>10} {:>10} {:>8}  in one trace\n",
                                 "predicted makespan, mean", "A", "B", "B : A");
  std::vector<double> all;
  for (const auto& [policy, of_a] : a) {
    const std::vector<double>& of_b = b.at(policy);
    std::vector<double> changes;
    for (size_t i = 0; i < of_a.size(); ++i) changes.push_back(of_b[i] / of_a[i] - 1);
    for (const double change : changes) all.push_back(std::abs(change));
    text += fmt::format("{:<32} {:>8.2f} s {:>8.2f} s {:>+6.1f} %  {:+.1f} to {:+.1f} %\n", policy,
                        Mean(of_a), Mean(of_b), (Mean(of_b) / Mean(of_a) - 1) * 100,
                        Quantile(changes, 0) * 100, Quantile(changes, 1) * 100);
  }
  return text + fmt::format("mean absolute difference over all cells: {:.1f} %\n", Mean(all) * 100);
}

int CompareProfiles(const ProfileArguments& arguments) {
  const Profile a = LoadProfile(arguments.a), b = LoadProfile(arguments.b);
  const std::vector<ComparedQuantity> quantities = CompareProfiles(a, b);
  if (quantities.empty()) {
    throw InputError({.file = arguments.b.string(),
                      .problem = fmt::format("has nothing that {} has", arguments.a.string()),
                      .allowed = "two profiles that share a program"});
  }
  std::vector<Sweep> sweeps;  // Both are checked before anything is told.
  if (!arguments.experiment.empty()) {
    for (const std::filesystem::path& profile : {arguments.a, arguments.b})
      sweeps.push_back(LoadSimulated(arguments.experiment, profile));
  }
  for (const auto& [name, file, profile] :
       {std::tuple("A", arguments.a, &a), std::tuple("B", arguments.b, &b)}) {
    fmt::print("{}: {}, {}, {}\n", name, file.string(), profile->date, profile->host);
  }
  fmt::print("\n{}", ProfileComparisonText(quantities));
  if (!sweeps.empty()) {
    const auto of_a = Simulate(sweeps[0]);
    const auto of_b = of_a ? Simulate(sweeps[1]) : std::nullopt;
    if (!of_b) return kInterrupted;
    fmt::print("\n{}", PredictionText(*of_a, *of_b));
  }
  return Agree(quantities) ? 0 : kDiffers;
}

}  // namespace

void AddProfileCommand(CLI::App& app, int* exit_code) {
  CLI::App* profile =
      app.add_subcommand("profile", "Look at what `cosched calibrate` has measured");
  profile->require_subcommand(1);
  CLI::App* command = profile->add_subcommand(
      "compare", "Do two profiles of this machine agree? Exit code 1 if an interval does not");
  const auto arguments = std::make_shared<ProfileArguments>();
  command->add_option("A", arguments->a, "A profile (.json)")->required();
  command->add_option("B", arguments->b, "Another")->required();
  command->add_option(
      "--experiment", arguments->experiment,
      "Simulate this file (.toml) with both: what the difference does to makespans");
  command->callback([arguments, exit_code] { *exit_code = CompareProfiles(*arguments); });
}

}  // namespace cosched
