#include "experiments/tenant/hosted_command.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "experiments/tenant/attachment.h"
#include "experiments/tenant/command_run.h"

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
          .mover = ProgramThreads::Mover::kHost};
}

ControlThreadOptions CommandControlOptions(const HostedTenantOptions& options) {
  ControlThreadOptions control;
  control.program = ProgramName(options.spec);
  control.steps = options.spec.steps;
  control.job = options.job;
  control.elasticity = options.elasticity;
  control.client = options.client;
  control.cores = options.cores;
  control.threads = options.threads;
  control.unbound = options.unbound;
  control.capacity =
      options.elasticity == Elasticity::kMalleable ? Split{1, options.capacity} : options.threads;
  control.control = options.control.empty() ? DefaultControlPath() : options.control;
  return control;
}

// Its steps, as its host has them: no more than it was asked to do.
class StepsTold {
 public:
  StepsTold(const TenantSpec& spec, SharedCounters* counters, StepMeter* meter)
      : spec_(spec), counters_(counters), meter_(meter), last_(StepMeter::Clock::now()) {}

  void Tell(const CommandRun::Progress& progress, int threads) {
    int64_t steps = progress.steps;
    if (spec_.steps > 0) steps = std::min(steps, spec_.steps);
    const int64_t more = steps - steps_;
    if (more <= 0) return;
    const auto each = (progress.at - last_) / more;
    // Where nobody counts images, a step is of a batch.
    const int64_t images =
        progress.images > 0 ? progress.images - images_ : more * int64_t{spec_.batch};
    for (int64_t i = 0; i < more; ++i) {
      const auto end = last_ + each;
      const auto count = static_cast<int>(images * (i + 1) / more - images * i / more);
      meter_->Add(last_, end, count);
      counters_->AddStep({steps_ + i, end.time_since_epoch(), each, threads, 0}, count);
      last_ = end;
    }
    steps_ = steps;
    images_ += images;
    last_ = progress.at;
  }
  int64_t steps() const { return steps_; }
  int64_t images() const { return images_; }

 private:
  const TenantSpec& spec_;
  SharedCounters* const counters_;
  StepMeter* const meter_;
  StepMeter::Clock::time_point last_;
  int64_t steps_ = 0, images_ = 0;
};

}  // namespace

int RunHostedCommand(const HostedTenantOptions& options, const Topology& topology) {
  HostLink host = LinkToHost(options);
  SharedCounters counters = SharedCounters::Map(std::move(host.counters));
  StepMeter meter;
  ControlThread control(CommandControlOptions(options), std::move(host.socket), &counters, &meter,
                        topology);
  try {
    CommandRun run(CommandSettingsOf(options), topology);
    StepsTold steps(options.spec, &counters, &meter);
    const Attachment attachment(&control, &run.Threads());
    control.Ready();
    const SteeredProgram::End end = run.Run([&](const CommandRun::Progress& progress) {
      steps.Tell(progress, run.Threads().ActiveThreads());
    });
    if (end.exit_code != 0) {
      control.Send(ErrorMessage{"its program " + end.how});
      return 1;
    }
    control.Send(FinishedMessage{steps.steps(), steps.images()});
    return 0;
  } catch (const std::exception& error) {
    control.Send(ErrorMessage{error.what()});
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace cosched
