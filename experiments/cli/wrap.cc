#include "experiments/cli/wrap.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/cli/cores_option.h"
#include "experiments/cli/follow_option.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/os/this_binary.h"
#include "experiments/tenant/interactive_command.h"
#include "experiments/tenant/resize_signals.h"

namespace cosched {
namespace {

constexpr int64_t kMostWrappedSteps = 1'000'000'000;

struct WrapArguments {
  std::vector<std::string> command;
  std::string cores, progress = "none", control;
  std::optional<int> threads;
  CommandClient client = CommandClient::kNone;
  FollowRule follow = FollowRule::kCeil;
  int64_t steps = 0;
};

// One with a client follows its quota from its first region or step on, also upwards.
int FirstThreads(CommandClient client, FollowRule follow, int cores) {
  if (client != CommandClient::kNone) return cores;
  return std::min(cores, ThreadsInQuota(follow).value_or(cores));
}

int Wrap(const WrapArguments& arguments) {
  ResizeSignals::Block();
  const Topology topology = Topology::ThisMachine();
  InteractiveCommandOptions options;
  options.command.arguments = arguments.command;
  options.command.client = arguments.client;
  const std::optional<ProgressSource> progress = ParseProgressSource(arguments.progress);
  if (!progress) RefuseValue("--progress", arguments.progress, kProgressSources);
  options.command.progress = *progress;
  if (const auto refusal = ChooseClientLibrary(ThisBinary(), &options.command))
    RefuseOption("--" + refusal->key, refusal->problem, refusal->allowed);
  options.place.cores = arguments.cores.empty() ? topology.OneThreadPerCore()
                                                : CoresOption(arguments.cores, topology.Cpus());
  const int most = options.place.cores.Count();
  options.place.threads =
      arguments.threads.value_or(FirstThreads(arguments.client, arguments.follow, most));
  CheckNumber("--threads", options.place.threads, 1, most);
  options.place.steps = arguments.steps;
  options.control = arguments.control;
  options.follow = arguments.follow;
  return RunInteractiveCommand(options, topology);
}

}  // namespace

void AddWrapCommand(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("wrap", "Run any program on some cores, steered by `cosched ctl`");
  const auto arguments = std::make_shared<WrapArguments>();
  command->positionals_at_end();  // What follows the program is the program's, also without "--".
  command->add_option("command", arguments->command, "-- CMD [ARGUMENT ...]")->required();
  command->add_option("--cores", arguments->cores,
                      "It runs nowhere else, such as 0-3; default: one of each physical core");
  AddNumber(
      command, "--threads", &arguments->threads, 1, CpuSet::kMaxCpu + 1,
      "What OMP_NUM_THREADS and the like say at its start; default: as many as cores; without a "
      "client no more than the CPU quota has time for, by --follow");
  AddChoice(command, "--client", &arguments->client,
            {{"none", CommandClient::kNone},
             {"library", CommandClient::kLibrary},
             {"openmp", CommandClient::kOpenMp}},
            ("W" + std::string(kCommandClientMeaning).substr(1)).c_str());
  command
      ->add_option("--progress", arguments->progress,
                   std::string("Where its steps are counted: ") + kProgressSources)
      ->capture_default_str();
  AddNumber(command, "--steps", &arguments->steps, 0, kMostWrappedSteps,
            "That it is to do; 0: not known");
  AddFollowOption(command, &arguments->follow);
  command->add_option("--control", arguments->control, "Path of the control socket");
  command->callback([arguments, exit_code] { *exit_code = Wrap(*arguments); });
}

}  // namespace cosched
