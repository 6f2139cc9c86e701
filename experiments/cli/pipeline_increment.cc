#include "experiments/cli/pipeline_increment.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/topology.h"
#include "experiments/cli/pipeline_ranks.h"
#include "experiments/cli/pipeline_run.h"
#include "experiments/cli/program_options.h"
#include "experiments/cli/typed_option.h"
#include "experiments/os/interrupt.h"
#include "workloads/pipelines/increment.h"

namespace cosched {
namespace {

struct IncrementArguments {
  IncrementSettings settings;
  double work_ms = 0, wait_ms = 0, merge_ms = 0;
  CreditLink link = CreditLink::kLinear;
  int open = 1;
  int64_t requests = 1;
  std::optional<int> threads, ranks;
};

// Of what was done; by the sum two runs can be compared.
int ReportIncrement(const PipelineRun& run) {
  int64_t done = 0, items = 0;
  uint64_t sum = 0;
  for (const PipelineResult& result : run.Results()) {
    if (result.answer.status != PipelineAnswer::Status::kDone) continue;
    ++done;
    for (const Payload& payload : result.answer.payloads) {
      ++items;
      sum += static_cast<uint64_t>(payload.As<int64_t>());
    }
  }
  const int exit_code =
      run.TellFailures([](int64_t request) { return fmt::format("request {}", request); });
  fmt::print("{} requests with {} items in {:.2f} s, {:.1f} requests/s; their sum is {}\n{}", done,
             items, run.Seconds(), static_cast<double>(done) / run.Seconds(), sum,
             run.StageTable());
  return exit_code;
}

// All requests are made before the first one is answered.
void CheckAllItems(const IncrementArguments& arguments) {
  constexpr int64_t kMostItems = 10'000'000;
  const int64_t items = arguments.requests * arguments.settings.items;
  if (items <= kMostItems) return;
  RefuseOption("--requests",
               fmt::format("{} requests of {} items are {} items", arguments.requests,
                           arguments.settings.items, items),
               fmt::format("{} items in all at most", kMostItems));
}

int RunIncrement(IncrementArguments arguments) {
  const Topology topology = Topology::ThisMachine();
  CheckAllItems(arguments);
  IncrementSettings& settings = arguments.settings;
  settings.work = FromSeconds(arguments.work_ms / 1e3);
  settings.wait = FromSeconds(arguments.wait_ms / 1e3);
  settings.merge = FromSeconds(arguments.merge_ms / 1e3);
  settings.open = {arguments.link, arguments.open, arguments.open};
  PipelineProgram program = MakeIncrement(settings);
  const bool travels =
      std::ranges::any_of(program.travels, [](const auto& travel) { return travel.has_value(); });
  if (arguments.ranks.value_or(1) > 1 && !travels)
    RefuseOption("--ranks", "no stage can be made on another rank", "stages that compute");
  const JoinedRank own = JoinRanks(arguments.threads, arguments.ranks, topology);
  if (own.ServesAnother()) {
    return ServeRank(
        own.link.get(), [&] { return program; }, own.cores, topology);
  }
  const SignalScope signals(own.link ? SignalScope::Second::kNoted : SignalScope::Second::kEnds);
  PipelineRun run(program, own.cores, topology, own.link.get());
  run.Run(arguments.requests, [&] { return fmt::format("{:.0f} s", run.SecondsSoFar()); });
  return ReportIncrement(run);
}

}  // namespace

void AddIncrementCommand(CLI::App* run, int* exit_code) {
  constexpr int kMostStages = 30, kMostSideBySide = 1000;
  constexpr double kMostMilliseconds = 60'000;
  CLI::App* command = run->add_subcommand(
      "increment", "Add one to each item in each stage, to see what pipelines cost and gain");
  const auto arguments = std::make_shared<IncrementArguments>();
  IncrementSettings& settings = arguments->settings;
  AddNumber(command, "--stages", &settings.stages, 1, kMostStages, "That add one");
  AddNumber(command, "--items", &settings.items, 0, 1'000'000, "Of each request");
  AddNumber(command, "--work-ms", &arguments->work_ms, 0, kMostMilliseconds,
            "CPU time that a stage takes for an item");
  AddNumber(
      command, "--wait-ms", &arguments->wait_ms, 0, kMostMilliseconds,
      "How long a stage waits for an item, on no core; with --work-ms every other stage waits, "
      "from the first one on");
  AddNumber(command, "--parallel", &settings.parallel, 1, kMostSideBySide,
            "Items that a stage waits for at once");
  AddNumber(command, "--merge-ms", &arguments->merge_ms, 0, kMostMilliseconds,
            "How long a last stage takes for all items of a request; 0: there is none");
  AddNumber(command, "--merges", &settings.merges, 1, kMostSideBySide,
            "Requests that it merges at once");
  AddNumber(command, "--requests", &arguments->requests, 1, 1'000'000, "All asked at once");
  AddOpenOptions(command, &arguments->open, &arguments->link);
  AddThreadsAndRanks(command, &arguments->threads, &arguments->ranks);
  command->callback([arguments, exit_code] { *exit_code = RunIncrement(*arguments); });
}

}  // namespace cosched
