#include "experiments/cli/execute.h"

#include <fmt/format.h>

#include <optional>

#include "engine/base/error.h"
#include "experiments/cli/interrupt.h"
#include "experiments/cli/local_cells.h"
#include "experiments/cli/measured_cores.h"
#include "experiments/cli/slurm.h"
#include "experiments/manifest.h"
#include "experiments/metrics.h"
#include "experiments/realtime.h"

namespace cosched {
namespace {

HarnessResult RunBy(const ExecuteOptions& options, const Sweep& sweep,
                    const std::filesystem::path& run, const Topology& topology,
                    const std::vector<std::string>& marks) {
  if (options.slurm) {
    return RunBySlurm(sweep, {.run = std::filesystem::absolute(run),
                              .command = CommandLine(),
                              .at_a_time = options.at_a_time});
  }
  return RunLocally(sweep, MissingCells(run, sweep),
                    {.run = run,
                     .topology = topology,
                     .at_a_time = options.at_a_time,
                     .make_policy = options.make_policy,
                     .marks = marks});
}

}  // namespace

std::string ResumeCommand(const ExecuteOptions& options) {
  return CommandLine() + (options.resume ? "" : " --resume");
}

Executed Execute(const Sweep& sweep, const ExecuteOptions& options, const Topology& topology) {
  for (const std::string& point : sweep.left_out) fmt::print(stderr, "left out: {}\n", point);
  // Both end before the comparison and the plots, which are in nobody's way. Simulated cells, and
  // those of other nodes, need neither.
  std::optional<MeasuredCores> cores;
  if (!options.slurm) {
    cores.emplace(MeasuredCoresOf(sweep),
                  std::filesystem::absolute(options.results / sweep.name()).string(),
                  options.force);
  }
  std::optional<RealtimeScope> realtime;
  if (!AllSimulated(sweep) && !options.slurm) realtime.emplace();
  const RunContext context = {.topology = topology,
                              .command_line = CommandLine(),
                              .scheduling = realtime ? realtime->description() : "as started"};
  RunFolder folder = options.resume ? RunFolder::Resume(options.results, sweep, context)
                                    : RunFolder::Create(options.results, sweep, context);
  if (cores) cores->SetRun(std::filesystem::absolute(folder.path()).string());
  Executed executed{.run = folder.path(), .result = {}, .whole = 0};
  try {
    const SignalScope signals;
    executed.result = RunBy(options, sweep, folder.path(), topology,
                            cores ? cores->marks() : std::vector<std::string>());
  } catch (const OutputError& error) {
    // A full disk is told with what to do about it.
    throw OutputError(
        fmt::format("{}\nwhole cells are kept in {}; once it can be written to, continue with: {}",
                    error.what(), folder.path().string(), ResumeCommand(options)));
  }
  realtime.reset();
  cores.reset();
  executed.whole = sweep.cells.size() - MissingCells(folder.path(), sweep).size();
  for (const SweepPoint& point : sweep.points) {
    const std::filesystem::path at = PointFolder(folder.path(), point);
    if (!WholeCells(at).empty()) WriteSummary(at);
  }
  if (!executed.result.interrupted) folder.Finish(executed.result.failed > 0 ? "failed" : "done");
  return executed;
}

}  // namespace cosched
