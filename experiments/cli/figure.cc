#include "experiments/cli/figure.h"

#include <fmt/format.h>

#include <optional>

#include "engine/base/error.h"
#include "experiments/cli/calibrate.h"
#include "experiments/cli/validate.h"
#include "experiments/config/figure_table.h"
#include "experiments/config/sweep.h"
#include "experiments/config/toml_table.h"
#include "experiments/launch/execute.h"
#include "experiments/launch/plots.h"
#include "experiments/launch/run_folder.h"
#include "experiments/os/exit_code.h"
#include "experiments/os/run_program.h"
#include "experiments/os/this_binary.h"

namespace cosched {
namespace {

FigureRun RunFigureExperiment(const std::filesystem::path& file, const FigureOptions& options,
                              const Topology& topology) {
  std::optional<Sweep> sweep;
  try {
    sweep = LoadSweep(TomlTable::Load(file, {}), {}, options.quick, topology);
  } catch (const InputError& error) {
    if (error.details().key != "sweep") throw;
    return {.why_not = error.details().problem};
  }
  const Executed executed =
      Execute(*sweep, {.results = options.out, .force = options.force}, topology);
  FigureRun run{.run = executed.run, .interrupted = executed.result.interrupted};
  if (run.interrupted) {
    fmt::print(stderr,
               "interrupted: {} of {} cells are kept in {}; continue with: cosched run {}{} --out "
               "{} --resume\n",
               executed.whole, sweep->cells.size(), executed.run.string(), file.string(),
               options.quick ? " --quick" : "", options.out.string());
    return run;
  }
  const int broken = executed.result.failed + executed.result.with_failures;
  if (broken > 0) fmt::print(stderr, "{} cells of {} failed\n", broken, sweep->name());
  run.whole = broken == 0;
  return run;
}

FigureRun RunCalibratedValidation(const std::filesystem::path& file, const FigureSettings& figure,
                                  const FigureOptions& options) {
  std::error_code ignored;
  std::filesystem::create_directories(options.out, ignored);
  const std::string profile = (options.out / (file.stem().string() + ".profile.json")).string();
  const int calibrated = MeasurePrograms({.workloads = {file.string()},
                                          .minutes = figure.calibrate_minutes,
                                          .out = profile,
                                          .force = options.force});
  if (calibrated != 0) return {.interrupted = calibrated == kInterrupted, .whole = false};
  const ValidationRun validation = RunValidation({.experiments = {file.string()},
                                                  .profile = profile,
                                                  .out = options.out.string(),
                                                  .quick = options.quick,
                                                  .no_plots = true,
                                                  .force = options.force});
  return {.run = validation.measured, .interrupted = validation.exit_code == kInterrupted};
}

FigureRun RunBenchmark(const TomlTable& root, const FigureSettings& figure,
                       const FigureOptions& options) {
  root.AllowOnly({"name", "figure", "quick"});
  const std::filesystem::path binary = ThisBinary().parent_path() / figure.program;
  if (!std::filesystem::exists(binary))
    return {.why_not = fmt::format("{} was not built", binary.string())};
  FigureRun run{.run = NewRunFolder(options.out / root.String("name"))};
  run.whole = RunProgram({binary.string(), "--benchmark_filter=" + figure.filter,
                          fmt::format("--benchmark_repetitions={}", figure.repetitions),
                          "--benchmark_out=" + (run.run / "benchmark.json").string(),
                          "--benchmark_out_format=json"}) == 0;
  if (!run.whole) fmt::print(stderr, "{} failed\n", binary.string());
  return run;
}

// Points without what it could not make are left out, and say so.
void Prepare(const std::filesystem::path& file, const std::string& script) {
  const std::filesystem::path path = file.parent_path() / script;
  if (RunProgram({"sh", path.string()}) != 0) fmt::print(stderr, "{} failed\n", path.string());
}

}  // namespace

std::filesystem::path FigureFile(const std::string& name) {
  return FindTreeFile("experiments/figures/" + name + ".toml");
}

FigureRun RunFigure(const std::string& name, const FigureOptions& options,
                    const Topology& topology) {
  const std::filesystem::path file = FigureFile(name);
  const TomlTable written = TomlTable::Load(file, {});
  const TomlTable root = options.quick ? written.With(QuickOverrides(written)) : written;
  FigureSettings figure;
  FigureSection().Read(root.Table("figure"), &figure);
  if (!figure.prepare.empty()) Prepare(file, figure.prepare);
  switch (figure.with) {
    case FigureSettings::Command::kRun: return RunFigureExperiment(file, options, topology);
    case FigureSettings::Command::kValidate: return RunCalibratedValidation(file, figure, options);
    case FigureSettings::Command::kBenchmark: return RunBenchmark(root, figure, options);
  }
  return {};
}

}  // namespace cosched
