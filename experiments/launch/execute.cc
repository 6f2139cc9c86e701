#include "experiments/launch/execute.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "engine/base/error.h"
#include "experiments/analysis/marked_cells.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/trial_metric.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "experiments/config/profile_doubts.h"
#include "experiments/launch/local_cells.h"
#include "experiments/launch/measured_cores.h"
#include "experiments/launch/records_size.h"
#include "experiments/launch/slurm.h"
#include "experiments/launch/trial_rounds.h"
#include "experiments/os/interrupt.h"
#include "experiments/os/realtime.h"
#include "experiments/records/cell_file.h"

namespace cosched {
namespace {

// planned: cells that its progress is of; 0 = all of the sweep.
HarnessResult RunBy(const ExecuteOptions& options, const Sweep& sweep,
                    const std::vector<SweepCell>& cells, const std::filesystem::path& run,
                    const Topology& topology, const std::vector<std::string>& marks,
                    size_t planned = 0) {
  if (options.slurm) {
    return RunBySlurm(sweep, {.run = std::filesystem::absolute(run),
                              .command = CommandLine(),
                              .at_a_time = options.at_a_time});
  }
  return RunLocally(sweep, cells,
                    {.run = run,
                     .topology = topology,
                     .at_a_time = options.at_a_time,
                     .planned = planned,
                     .make_policy = options.make_policy,
                     .marks = marks});
}

RunFolder OpenRunFolder(const ExecuteOptions& options, const Sweep& sweep,
                        const RunContext& context) {
  switch (options.into) {
    case Into::kUnfinishedRun:
      return RunFolder::Resume(options.results, sweep, context, options.on_difference);
    case Into::kMarkedRun:
      return RunFolder::Reopen(options.results, sweep, context, options.on_difference);
    case Into::kNewRun: break;
  }
  return RunFolder::Create(options.results, sweep, context);
}

// When a whole cell's records came to their place; nullopt = it is not whole.
std::optional<std::filesystem::file_time_type> WholeSince(const std::filesystem::path& run,
                                                          const Sweep& sweep,
                                                          const SweepCell& cell) {
  const std::filesystem::path point = PointFolder(run, sweep.points[cell.point]);
  std::error_code error;
  const auto time =
      std::filesystem::last_write_time(CellFolder(point, cell.key) / kCellFileName, error);
  return error ? std::nullopt : std::optional(time);
}

HarnessResult RunMarked(const ExecuteOptions& options, const Sweep& sweep,
                        const RunContext& context, const std::vector<std::string>& marks,
                        RunFolder* folder) {
  const std::filesystem::path& run = folder->path();
  const std::vector<SweepCell> marked = MarkedCells(run, sweep);
  if (marked.empty()) {
    fmt::print(stderr, "none of its {} cells is marked or failed: nothing runs anew\n",
               sweep.cells.size());
    return {};
  }
  fmt::print(stderr, "{} of {} cells, marked or failed, run anew\n", marked.size(),
             sweep.cells.size());
  std::vector<std::optional<std::filesystem::file_time_type>> before;
  for (const SweepCell& cell : marked) before.push_back(WholeSince(run, sweep, cell));
  const auto record = [&] {
    std::vector<SweepCell> redone;
    for (size_t i = 0; i < marked.size(); ++i) {
      if (WholeSince(run, sweep, marked[i]) != before[i]) redone.push_back(marked[i]);
    }
    folder->EndRedo(sweep, redone);
    folder->Judge(sweep, LookAgain(sweep, run));
  };
  folder->BeginRedo(sweep, marked, context);
  HarnessResult result;
  try {
    result = RunBy(options, sweep, marked, run, context.topology, marks);
  } catch (...) {
    record();
    throw;
  }
  record();
  return result;
}

// All cells that are missing, in rounds where it shows on the way how many are needed.
HarnessResult RunMissing(const ExecuteOptions& options, const Sweep& sweep,
                         const Topology& topology, const std::vector<std::string>& marks,
                         const RunFolder& folder) {
  const std::filesystem::path& run = folder.path();
  if (!HasSequentialTrials(sweep))
    return RunBy(options, sweep, MissingCells(run, sweep), run, topology, marks);
  std::vector<StoppedTrials> stopped;
  const HarnessResult result = RunInRounds(
      sweep, run,
      [&](const std::vector<SweepCell>& cells, size_t planned) {
        return RunBy(options, sweep, cells, run, topology, marks, planned);
      },
      &stopped);
  if (!result.interrupted) folder.Stop(sweep, stopped);
  return result;
}

// A task of an array knows nothing of the others' trials.
void RefuseRoundsOfSlurm(const ExecuteOptions& options, const Sweep& sweep) {
  if (options.slurm && HasSequentialTrials(sweep))
    RefuseOption("--launcher slurm",
                 "is given, and the experiment's trials go on until they decide: an array has to "
                 "know them all beforehand",
                 "a number of trials (--trials), or --launcher local");
}

void TellDoubts(const Sweep& sweep) {
  const std::vector<std::string> doubts = ProfileDoubts(sweep);
  if (doubts.empty()) return;
  std::set<std::string> files;
  for (const SweepPoint& point : sweep.points) {
    if (point.config.profile) files.insert(point.config.profile->file.string());
  }
  fmt::print(stderr, "doubts about {}:\n", fmt::join(files, ", "));
  for (const std::string& doubt : doubts) fmt::print(stderr, "  * {}\n", doubt);
}

// What only --dry-run may leave open.
void RefuseLackingRates(const Sweep& sweep) {
  for (const SweepPoint& point : sweep.points) {
    if (point.config.lacks_kernel_rates)
      RefuseOption("machine.kernel_rates", "is \"kept\", and nothing was measured here before",
                   kAllowedRates);
  }
}

}  // namespace

std::string ResumeCommand(const ExecuteOptions& options) {
  return CommandLine() + (options.into == Into::kNewRun ? " --resume" : "");
}

Executed Execute(const Sweep& sweep, const ExecuteOptions& options, const Topology& topology) {
  RefuseLackingRates(sweep);
  RefuseRoundsOfSlurm(options, sweep);
  for (const SweepPoint& point : sweep.points) CheckMetricNames(point.config);
  for (const std::string& point : sweep.left_out) fmt::print(stderr, "left out: {}\n", point);
  // Both end before the comparison and the plots, which are in nobody's way. Simulated cells, and
  // those of other nodes, need neither.
  std::optional<MeasuredCores> cores;
  if (!options.slurm) {
    cores.emplace(MeasuredCoresOf(sweep), topology,
                  std::filesystem::absolute(options.results / sweep.name()).string(),
                  options.force);
  }
  std::optional<RealtimeScope> realtime;
  if (!AllSimulated(sweep) && !options.slurm) realtime.emplace();
  const RunContext context = {.topology = topology,
                              .command_line = CommandLine(),
                              .scheduling = realtime ? realtime->description() : "as started",
                              .cpu = options.cpu,
                              .kernel = options.kernel};
  // From before there is a folder: a run that others see ends in order.
  std::optional<SignalScope> signals(std::in_place);
  RunFolder folder = OpenRunFolder(options, sweep, context);
  if (cores) cores->SetRun(std::filesystem::absolute(folder.path()).string());
  fmt::print(stderr, "results go to {}\n", folder.path().string());
  for (const std::string& point : sweep.without_records) fmt::print(stderr, "{}\n", point);
  fmt::print(stderr, "{}", LargeRecordsText(EstimateRecords(sweep), FreeSpace(folder.path())));
  TellDoubts(sweep);
  const bool redo = options.into == Into::kMarkedRun;
  const std::vector<std::string> marks = cores ? cores->marks() : std::vector<std::string>();
  Executed executed{.run = folder.path(), .result = {}, .whole = 0};
  try {
    executed.result =
        redo ? RunMarked(options, WithoutUnneeded(sweep, folder.path()), context, marks, &folder)
             : RunMissing(options, sweep, topology, marks, folder);
  } catch (const OutputError& error) {
    // A full disk is told with what to do about it.
    throw OutputError(
        fmt::format("{}\nwhole cells are kept in {}; once it can be written to, continue with: {}",
                    error.what(), folder.path().string(), ResumeCommand(options)));
  }
  signals.reset();
  realtime.reset();
  cores.reset();
  executed.whole = sweep.cells.size() - MissingCells(folder.path(), sweep).size();
  for (const SweepPoint& point : sweep.points) {
    const std::filesystem::path at = PointFolder(folder.path(), point);
    if (!WholeCells(at).empty()) WriteSummary(at);
  }
  if (executed.result.interrupted) return executed;
  if (options.into != Into::kNewRun)
    executed.result = ResultOf(folder.path(), sweep, NeededCells(sweep, folder.path()));
  folder.Finish(executed.result.failed > 0 ? "failed" : "done");
  return executed;
}

Executed ExecuteOrGoOn(const Sweep& sweep, ExecuteOptions options, const Topology& topology) {
  const std::vector<std::filesystem::path> begun = UnfinishedRuns(options.results, sweep.name());
  const bool goes_on = std::ranges::any_of(
      begun, [&sweep](const std::filesystem::path& run) { return IsRunOf(run, sweep); });
  options.into = goes_on ? Into::kUnfinishedRun : Into::kNewRun;
  try {
    return Execute(sweep, options, topology);
  } catch (const InputError& error) {
    if (!goes_on || error.details().key != "--resume") throw;
    fmt::print(stderr, "begins anew: {}\n", error.details().problem);
  }
  options.into = Into::kNewRun;
  return Execute(sweep, options, topology);
}

}  // namespace cosched
