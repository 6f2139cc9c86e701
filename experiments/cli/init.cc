#include "experiments/cli/init.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "experiments/config/names.h"
#include "experiments/config/option_refusal.h"
#include "experiments/records/output_file.h"

namespace cosched {
namespace {

// {} is the name.
constexpr const char* kExperiment =
    R"toml(# `cosched run {0}.toml` runs this, `--dry-run` only tells what it would do, and `--set key=value` changes
# one value. All keys: `cosched list keys`; policies and models: `cosched list policies`, `cosched list models`.
name = "{0}"
trials = 6       # Every policy meets the same arrivals in a trial. Six are the fewest whose interval says 95 %.
seed = 1         # Of the arrivals and the weights.
policies = ["strict", "equal-share", "max-prop"]
elasticity = ["rigid", "malleable"]   # Rigid tenants keep the threads that they were started with.
baseline = "strict"                   # The others are compared with it, trial by trial.

[trace]          # Who comes when. With file = "jobs.csv" a trace of yours, in any format of `cosched list formats`.
jobs = 6
gap = {{ distribution = "exponential", mean_s = 0.1 }}

[[workload]]     # What a job is, one drawn for each arrival by weight (1 if none is said).
name = "resnet20"
model = "resnet20"
batch = 32
steps = 6        # Training steps; with mode = "infer" it infers, with "serve" it answers requests.
cores = {{ min = 1, preferred = 2, max = 2 }}

[[workload]]
name = "lenet5"
model = "lenet5"
batch = 64
steps = 30
cores = {{ min = 1, preferred = 1, max = 2 }}

# Any program of yours is a tenant, too; `client` says how its threads follow (none: only its cores do).
# [[workload]]
# name = "mine"
# command = ["python3", "train.py"]
# progress = "output:^step (\\d+)"
# steps = 100
# cores = {{ min = 1, max = 2 }}

# A point for every value, or combination of values, of any keys:
# [sweep]
# trace.gap.mean_s = [0.05, 0.1, 0.2]

# The same in the simulator, on any machine, once `cosched calibrate {0}.toml` has measured this one:
# backend = "simulated"      (above, beside trials)
# [machine]
# topology = "pack:2 core:16 pu:1"
# profile = "profiles/<this machine>.json"
)toml";

void Init(const std::string& name) {
  if (!IsName(name)) RefuseValue("NAME", name, NameRange());
  const std::filesystem::path file = name + ".toml";
  std::error_code error;
  if (std::filesystem::exists(file, error))
    RefuseOption("NAME", fmt::format("{} is there already", file.string()), "a new name");
  WriteFileWhole(file, fmt::format(kExperiment, name));
  fmt::print("{} is an experiment; cosched run {} runs it\n", file.string(), file.string());
}

}  // namespace

void AddInitCommand(CLI::App& app, int* exit_code) {
  const auto name = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("init", "Write NAME.toml, a commented experiment that runs");
  command->add_option("NAME", *name, "Of the experiment")->required();
  command->callback([name, exit_code] {
    Init(*name);
    *exit_code = 0;
  });
}

}  // namespace cosched
