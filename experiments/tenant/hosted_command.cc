#include "experiments/tenant/hosted_command.h"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>

#include "experiments/tenant/attachment.h"
#include "experiments/tenant/command_run.h"
#include "experiments/tenant/hosted_control.h"

namespace cosched {
namespace {

CommandSettings CommandSettingsOf(const HostedTenantOptions& options) {
  const TenantSpec& spec = options.spec;
  return {.command = spec.command,
          .place = {.cores = options.cores,
                    .threads = options.threads.intra,
                    .steps = spec.steps,
                    .job = options.job.value,
                    .seed = spec.seed},
          .follows = options.elasticity == Elasticity::kMalleable,
          .mover = ProgramThreads::Mover::kHost,
          .batch = spec.batch};
}

}  // namespace

int RunHostedCommand(const HostedTenantOptions& options, const Topology& topology) {
  HostLink host = LinkToHost(options);
  SharedCounters counters = SharedCounters::Map(std::move(host.counters));
  StepMeter meter;
  ControlThreadOptions control_options = HostedControlOptions(options);
  control_options.capacity.inter = 1;
  ControlThread control(std::move(control_options), std::move(host.socket), &counters, &meter,
                        topology);
  try {
    CommandRun run(CommandSettingsOf(options), topology);
    const Attachment attachment(&control, &run.Threads());
    control.Ready();
    // No more than it was asked to do, as its host would not believe it.
    const int64_t most = options.spec.steps > 0 ? options.spec.steps : INT64_MAX;
    int64_t images = 0, steps = 0;
    const SteeredProgram::End end = run.Run([&](const CommandRun::Step& step) {
      if (step.index >= most) return;
      const int threads = run.Threads().ActiveThreads();
      meter.Add(step.begin, step.end, step.images);
      counters.AddStep({step.index, step.end.time_since_epoch(), step.end - step.begin, threads, 0},
                       step.images);
      steps = step.index + 1;
      images += step.images;
    });
    if (end.exit_code != 0) {
      control.Send(ErrorMessage{"its program " + end.how});
      return 1;
    }
    control.Send(FinishedMessage{steps, images, run.Remark()});
    return 0;
  } catch (const std::exception& error) {
    control.Send(ErrorMessage{error.what()});
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace cosched
