#include "experiments/cli/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/base/error.h"
#include "experiments/cli/interrupt.h"
#include "experiments/cli/plots.h"
#include "experiments/cli/progress.h"
#include "experiments/manifest.h"
#include "experiments/metrics.h"
#include "experiments/realtime.h"

namespace cosched {
namespace {

std::vector<SweepCell> MissingCells(const std::filesystem::path& run, const Sweep& sweep) {
  std::vector<std::vector<CellKey>> whole;
  for (const SweepPoint& point : sweep.points) whole.push_back(WholeCells(PointFolder(run, point)));
  std::vector<SweepCell> missing;
  for (const SweepCell& cell : sweep.cells) {
    const std::vector<CellKey>& there = whole[cell.point];
    if (std::find(there.begin(), there.end(), cell.key) == there.end()) missing.push_back(cell);
  }
  return missing;
}

HarnessResult RunMissing(const Sweep& sweep, const std::filesystem::path& run,
                         const std::vector<SweepCell>& missing, const ExecuteOptions& options,
                         const Topology& topology) {
  ProgressLine progress(sweep.cells.size() - missing.size(), sweep.cells.size());
  const SignalScope signals;
  HarnessResult sum;
  for (const SweepCell& cell : missing) {
    const SweepPoint& point = sweep.points[cell.point];
    progress.OnPoint(point.name);
    const HarnessResult one =
        RunCells(point.config, point.plan, {cell.key},
                 {.run = PointFolder(run, point),
                  .topology = *point.config.topology,
                  .make_world = WorldsOf(ThisBinary(), topology, point.config),
                  .interrupted = [] { return Interrupted(); },
                  .progress = &progress,
                  .make_policy = options.make_policy});
    sum.done += one.done;
    sum.failed += one.failed;
    sum.with_failures += one.with_failures;
    sum.interrupted = one.interrupted;
    if (sum.interrupted) break;
  }
  return sum;
}

}  // namespace

std::string ResumeCommand(const ExecuteOptions& options) {
  return CommandLine() + (options.resume ? "" : " --resume");
}

Executed Execute(const Sweep& sweep, const ExecuteOptions& options, const Topology& topology) {
  for (const std::string& point : sweep.left_out) fmt::print(stderr, "left out: {}\n", point);
  // Ends before the comparison and the plots, which are in nobody's way.
  auto realtime = std::make_unique<RealtimeScope>();
  const RunContext context = {
      .topology = topology, .command_line = CommandLine(), .scheduling = realtime->description()};
  RunFolder folder = options.resume ? RunFolder::Resume(options.results, sweep, context)
                                    : RunFolder::Create(options.results, sweep, context);
  Executed executed{.run = folder.path(), .result = {}, .whole = 0};
  try {
    executed.result =
        RunMissing(sweep, folder.path(), MissingCells(folder.path(), sweep), options, topology);
  } catch (const OutputError& error) {
    // A full disk is told with what to do about it.
    throw OutputError(
        fmt::format("{}\nwhole cells are kept in {}; once it can be written to, continue with: {}",
                    error.what(), folder.path().string(), ResumeCommand(options)));
  }
  realtime.reset();
  executed.whole = sweep.cells.size() - MissingCells(folder.path(), sweep).size();
  for (const SweepPoint& point : sweep.points) {
    const std::filesystem::path at = PointFolder(folder.path(), point);
    if (!WholeCells(at).empty()) WriteSummary(at);
  }
  if (!executed.result.interrupted) folder.Finish(executed.result.failed > 0 ? "failed" : "done");
  return executed;
}

}  // namespace cosched
