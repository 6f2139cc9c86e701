#include "experiments/cli/figure.h"

#include <fmt/format.h>

#include <system_error>

#include "experiments/cli/calibrate.h"
#include "experiments/cli/figure_plan.h"
#include "experiments/cli/validate.h"
#include "experiments/config/figure_table.h"
#include "experiments/config/sweep.h"
#include "experiments/config/toml_table.h"
#include "experiments/launch/execute.h"
#include "experiments/launch/plots.h"
#include "experiments/launch/run_folder.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/run_program.h"
#include "experiments/os/this_binary.h"

namespace cosched {
namespace {

FigureRun RunFigureExperiment(const std::filesystem::path& file, const FigureOptions& options,
                              const Topology& topology) {
  const Sweep sweep = LoadSweep(TomlTable::Load(file, {}), {}, options.quick, topology);
  const ExecuteOptions fresh = {.results = options.out, .force = options.force};
  const Executed executed =
      options.resume ? ExecuteOrGoOn(sweep, fresh, topology) : Execute(sweep, fresh, topology);
  FigureRun run{.run = executed.run, .interrupted = executed.result.interrupted};
  if (run.interrupted) {
    fmt::print(stderr, "interrupted: {} of {} cells are kept in {}\n", executed.whole,
               sweep.cells.size(), executed.run.string());
    return run;
  }
  const int broken = executed.result.failed + executed.result.with_failures;
  if (broken > 0) run.failure = fmt::format("{} of {} cells failed", broken, sweep.cells.size());
  return run;
}

FigureRun RunCalibratedValidation(const std::filesystem::path& file, const FigureSettings& figure,
                                  const FigureOptions& options) {
  std::error_code ignored;
  std::filesystem::create_directories(options.out, ignored);
  const std::string profile = (options.out / (file.stem().string() + ".profile.json")).string();
  // One that is there is of an earlier reproduction, unless that one is gone on with.
  if (!options.resume) std::filesystem::remove(profile, ignored);
  const int calibrated = std::filesystem::exists(profile, ignored)
                             ? 0
                             : MeasurePrograms({.workloads = {file.string()},
                                                .minutes = figure.calibrate_minutes,
                                                .out = profile,
                                                .force = options.force,
                                                .quick = options.quick});
  if (calibrated == kInterrupted) return {.interrupted = true};
  if (calibrated != 0) return {.failure = "its programs could not be calibrated"};
  const ValidationRun validation = RunValidation({.experiments = {file.string()},
                                                  .profile = profile,
                                                  .out = options.out.string(),
                                                  .quick = options.quick,
                                                  .resume = options.resume,
                                                  .no_plots = true,
                                                  .force = options.force});
  return {.run = validation.measured, .interrupted = validation.exit_code == kInterrupted};
}

std::filesystem::path BenchmarkOf(const FigureSettings& figure) {
  return ThisBinary().parent_path() / figure.program;
}

FigureRun RunBenchmark(const TomlTable& root, const FigureSettings& figure,
                       const FigureOptions& options) {
  root.AllowOnly({"name", "figure", "quick"});
  const std::filesystem::path binary = BenchmarkOf(figure);
  FigureRun run{.run = NewRunFolder(options.out / root.String("name"))};
  const SignalScope signals;
  const int code = RunProgram({binary.string(), "--benchmark_filter=" + figure.filter,
                               fmt::format("--benchmark_repetitions={}", figure.repetitions),
                               "--benchmark_out=" + (run.run / "benchmark.json").string(),
                               "--benchmark_out_format=json"});
  run.interrupted = Interrupted();
  if (code != 0) run.failure = fmt::format("{} failed", binary.string());
  return run;
}

}  // namespace

std::string WhyNoBenchmark(const FigureSettings& figure) {
  const std::filesystem::path binary = BenchmarkOf(figure);
  if (std::filesystem::exists(binary)) return "";
  if (IsInstalled())
    return figure.program + " is a benchmark, which only a build of the source tree has";
  return fmt::format("{} was not built: cmake --build {} --target {}", figure.program,
                     binary.parent_path().string(), figure.program);
}

FigureRun RunFigure(const std::string& name, const FigureOptions& options,
                    const Topology& topology) {
  const std::filesystem::path file = FigureFile(name);
  const TomlTable root = ChosenTable(TomlTable::Load(file, {}), options.quick);
  const FigureSettings figure = SettingsOf(root);
  switch (figure.with) {
    case FigureSettings::Command::kRun: return RunFigureExperiment(file, options, topology);
    case FigureSettings::Command::kValidate: return RunCalibratedValidation(file, figure, options);
    case FigureSettings::Command::kBenchmark: return RunBenchmark(root, figure, options);
  }
  return {};
}

}  // namespace cosched
