#include "experiments/tenant/interactive_command.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>

#include "experiments/tenant/attachment.h"
#include "experiments/tenant/command_run.h"
#include "experiments/tenant/interactive_steering.h"
#include "experiments/tenant/step_meter.h"

namespace cosched {
namespace {

std::atomic<pid_t> program_of_signals = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free, "a signal handler reads it");

// Ctrl-C is for the program, which is in the same group; what is sent to this process alone is handed
// on.
void HandOnSignals(pid_t program) {
  program_of_signals = program;
  struct sigaction action = {};
  action.sa_handler = [](int number) { kill(program_of_signals, number); };
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  signal(SIGINT, SIG_IGN);
}

std::string PlaceOf(const ResizedMessage& resized, bool has_client) {
  if (resized.after == Split{0, 0}) return "paused";
  const char* const noun = resized.cores.Count() == 1 ? "core" : "cores";
  const std::string cores = fmt::format("{} {}", noun, resized.cores.ToString());
  if (!has_client) return "on " + cores;
  const int threads = ThreadsOf(resized.after);
  return fmt::format("{} {} on {}", threads, threads == 1 ? "thread" : "threads", cores);
}

ControlThreadOptions WrapControlOptions(const InteractiveCommandOptions& options) {
  const bool has_client = options.command.client != CommandClient::kNone;
  ControlThreadOptions control =
      SteeredThrough(options.control, options.follow, options.place.cores);
  control.program = CommandProgramName(options.command);
  control.steps = options.place.steps;
  control.threads = {1, options.place.threads};
  control.capacity = {1, has_client ? options.place.cores.Count() : options.place.threads};
  control.fixed_threads = !has_client;
  control.on_resized = [has_client](const ResizedMessage& resized) {
    fmt::print(stderr, "cosched: {}, by {}, in {} us\n", PlaceOf(resized, has_client),
               ToString(resized.cause), resized.time.count());
  };
  return control;
}

}  // namespace

int RunInteractiveCommand(const InteractiveCommandOptions& options, const Topology& topology) {
  ConfineToCores(options.place.cores, topology);
  CommandRun run({.command = options.command, .place = options.place, .has_input = true}, topology);
  HandOnSignals(run.pid());
  StepMeter meter;
  ControlThreadOptions control_options = WrapControlOptions(options);
  control_options.on_stop = [&run] { run.Stop(SIGTERM); };
  ControlThread control(std::move(control_options), UniqueFd(), nullptr, &meter, topology);
  fmt::print(stderr, "cosched: {}\n", SteeringHint(options.control));
  const Attachment attachment(&control, &run.Threads());
  const auto begin = CommandRun::Clock::now();
  CommandRun::Step last;
  last.end = begin;
  const SteeredProgram::End end = run.Run([&](const CommandRun::Step& step) {
    meter.Add(step.begin, step.end, step.images);
    last = step;
  });
  if (last.end > begin) {
    const std::chrono::duration<double> time = last.end - begin;
    fmt::print(stderr, "cosched: {} steps, {:.2f} a second; it {}\n", last.index + 1,
               static_cast<double>(last.index + 1) / time.count(), end.how);
  }
  if (const std::string remark = run.Remark(); !remark.empty())
    fmt::print(stderr, "cosched: it {}\n", remark);
  return end.exit_code;
}

}  // namespace cosched
