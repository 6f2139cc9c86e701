#include "experiments/cli/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>

#include "engine/base/cpu_description.h"
#include "engine/base/error.h"
#include "engine/base/numa.h"
#include "experiments/analysis/estimate.h"
#include "experiments/calibration/calibration.h"
#include "experiments/calibration/fit.h"
#include "experiments/calibration/published_profile.h"
#include "experiments/cli/kernel_rates_option.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/option_refusal.h"
#include "experiments/config/sweep.h"
#include "experiments/launch/build_info.h"
#include "experiments/launch/measured_cores.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/realtime.h"
#include "experiments/os/scratch_folder.h"
#include "experiments/os/this_binary.h"
#include "experiments/wire/chaos_plan.h"
#include "workloads/model.h"

namespace cosched {
namespace {

constexpr double kMostMinutes = 10'000;
constexpr uint64_t kLargestSeed = 1'000'000'000'000'000;

// Before anything is measured: it would be a pity to find out afterwards.
void CheckOut(const std::string& out) {
  const std::filesystem::path folder = std::filesystem::absolute(out).parent_path();
  std::error_code ignored;
  if (!std::filesystem::is_directory(out, ignored) &&
      std::filesystem::is_directory(folder, ignored)) {
    return;
  }
  RefuseOption("--out", fmt::format("{} can't be a file", out), "a file in a folder that is there");
}

// The programs that a word of --workloads means.
std::vector<TenantSpec> ProgramsOf(const std::string& word, bool quick) {
  std::error_code ignored;
  if (IsModelName(word)) {
    TenantSpec spec;
    spec.model = word;
    return {spec};
  }
  if (!word.ends_with(".toml") && !std::filesystem::exists(word, ignored)) {
    RefuseOption("--workloads", fmt::format("\"{}\" is neither a file nor a model", word),
                 "an experiment file, " + ModelNames());
  }
  std::vector<TenantSpec> programs;
  for (const WorkloadConfig& workload : SweptWorkloads(word, quick)) {
    if (workload.spec.IsCommand() &&
        workload.spec.command.progress.kind == ProgressSource::Kind::kNone) {
      RefuseOption("--workloads",
                   fmt::format("{}: workload {} has progress = \"none\", so no time of a step can "
                               "be measured",
                               word, workload.name),
                   "programs whose steps are counted");
    }
    programs.push_back(workload.spec);
  }
  return programs;
}

// Each once; those that misbehave on purpose have no speed.
std::vector<TenantSpec> Programs(const std::vector<std::string>& words, bool quick) {
  std::vector<TenantSpec> programs;
  for (const std::string& word : words) {
    for (const TenantSpec& spec : ProgramsOf(word, quick)) {
      const bool known = std::any_of(programs.begin(), programs.end(), [&](const auto& other) {
        return ProgramName(other) == ProgramName(spec);
      });
      if (!known && !IsChaosModel(spec.model)) programs.push_back(spec);
    }
  }
  if (programs.empty()) RefuseOption("--workloads", "there is nothing to measure", ModelNames());
  return programs;
}

std::string HostText() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return fmt::format("{}, {}", name, ThisCpuModel());
}

// rates: of the kernels that were measured; "": none were.
void Save(Profile profile, const std::string& rates, const std::string& out) {
  const BuildInfo& build = GetBuildInfo();
  profile.version = fmt::format("{}; oneDNN {}, Eigen {}, hwloc {}, {}", VersionText(),
                                build.onednn, build.eigen, build.hwloc, build.compiler);
  if (!rates.empty()) profile.version += ", kernel rates " + rates;
  profile.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  SaveProfile(profile, out);
  fmt::print("\nprofile: {}\n", out);
}

int FromPublished(const CalibrateArguments& arguments) {
  PublishedProfile published = ReadPublishedProfile(arguments.from_published);
  for (const std::string& line : published.report) fmt::print("{}\n", line);
  published.profile.source = "published: " + CommandLine();
  Save(std::move(published.profile), /*rates=*/"", arguments.out);
  return 0;
}

// One line that changes on a terminal, else a line a measurement.
void TellProgress(const CalibrationProgress& progress) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const int left = static_cast<int>(std::lround(progress.left_s));
  fmt::print(stderr, "{}[{}/{} tight] {}: {}; about {}:{:02} left{}", terminal ? "\r\x1b[K" : "",
             progress.tight, progress.measurements, progress.what, progress.result, left / 60,
             left % 60, terminal ? "" : "\n");
  if (terminal && progress.tight == progress.measurements) fmt::print(stderr, "\n");
  std::fflush(stderr);
}

}  // namespace

int MeasurePrograms(const CalibrateArguments& arguments) {
  const Topology here = Topology::ThisMachine();
  const Topology alike = here.Within(here.CoreKinds().front());
  const Topology topology =
      arguments.threads_are_cores ? alike : alike.Within(alike.OneThreadPerCore());
  CalibrationOptions options;
  options.interval = arguments.interval;
  options.seconds = 60 * arguments.minutes;
  options.seed = arguments.seed;
  options.threads_per_core = topology.ThreadsPerCore();
  const std::string why_no_far_memory = WhyNoFarMemory(topology);
  if (why_no_far_memory.empty()) options.numa_nodes = NumaMap::Of(topology).Count();
  std::vector<TenantSpec> programs = Programs(arguments.workloads, arguments.quick);
  const KernelRates rates = KernelRatesOption(arguments.kernel_rates);
  for (TenantSpec& program : programs) {
    program.rates = rates;
    program.deterministic = true;  // A profile knows programs by their names alone.
  }
  const ScratchFolder scratch;
  const MeasuredCores cores(topology.Cpus(), here, "cosched calibrate", arguments.force);
  const SignalScope signals;
  const RealtimeScope realtime;
  MeasureOptions measure = {
      .folder = scratch.path(),
      .topology = topology,
      .hosts_of = [&](const auto& config) { return ProcessHosts(ThisBinary(), here, config); },
      .interrupted = Interrupted,
      .marks = cores.marks()};
  // One may take as long as all together.
  measure.longest = std::max(measure.longest, std::chrono::duration<double>(options.seconds));
  options.now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  options.measure = [&](const Measurement& measurement, const std::vector<int64_t>& steps) {
    return Measure(measurement, programs, steps, measure);
  };
  options.progress = TellProgress;
  std::optional<CalibrationResult> result = Calibrate(programs, topology.Cpus().Count(), options);
  if (!result) {
    fmt::print(stderr, "interrupted: no profile was written\n");
    return kInterrupted;
  }
  if (result->not_tight > 0) {
    result->profile.notes.push_back(fmt::format(
        "the time was up: {} of {} intervals are wider than ±{:g} % or of fewer than {} "
        "runs",
        result->not_tight, result->measurements, options.interval * 100, kTrialsThatDecide));
  }
  if (alike.Cpus() != here.Cpus()) {
    result->profile.notes.push_back(fmt::format(
        "measured on {}, the fastest kind of this machine's cores", topology.Cpus().ToString()));
  }
  if (!why_no_far_memory.empty()) {
    result->profile.notes.push_back(fmt::format(
        "what memory on another NUMA node costs was not measured, and is nothing in the "
        "simulator: {}",
        why_no_far_memory));
  }
  result->profile.source = "calibrate: " + CommandLine();
  result->profile.host = HostText();
  result->profile.threads_per_core = topology.ThreadsPerCore();
  fmt::print("{} runs of {} measurements\n\n{}", result->runs, result->measurements,
             ProfileTable(result->profile));
  Save(std::move(result->profile), ToString(rates), arguments.out);
  return 0;
}

void AddCalibrateCommand(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure programs on this machine for the simulator and size-aware policies");
  const auto arguments = std::make_shared<CalibrateArguments>();
  CLI::Option* published =
      command->add_option("--from-published", arguments->from_published,
                          "Measure nothing: read the published tables of this folder");
  CLI::Option* workloads =
      command
          ->add_option("--workloads", arguments->workloads,
                       "Experiment files (all their workloads), or models (batch 32, training)")
          ->excludes(published);
  for (CLI::Option* option :
       {AddNumber(command, "--minutes", &arguments->minutes, 0.01, kMostMinutes,
                  "Once each measurement was made, no run begins after so many minutes"),
        AddNumber(command, "--interval", &arguments->interval, 0.001, 1,
                  "Measure each until half of an interval of at least 95 % is at most this share"),
        AddNumber(command, "--seed", &arguments->seed, 0, kLargestSeed,
                  "Of the order of measurements"),
        AddChoice(command, "--smt", &arguments->threads_are_cores,
                  {{"cores", false}, {"threads", true}},
                  "What a core is: a physical one, of which one hardware thread is used (default), "
                  "or each hardware thread; as [machine] smt of the experiments")}) {
    option->excludes(published);
  }
  AddKernelRatesOption(command, &arguments->kernel_rates);
  command->add_option("--out", arguments->out, "The profile (.json) to write")->required();
  AddForceFlag(command, &arguments->force);
  command->callback([arguments, exit_code, published, workloads] {
    CheckOut(arguments->out);
    if (published->count() + workloads->count() == 0)
      RefuseOption("--workloads", "is required",
                   "experiment files or models, or --from-published DIR");
    *exit_code = published->count() > 0 ? FromPublished(*arguments) : MeasurePrograms(*arguments);
  });
}

}  // namespace cosched
