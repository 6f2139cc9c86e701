#include "experiments/launch/finished_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/table_text.h"
#include "experiments/launch/trial_rounds.h"
#include "experiments/os/exit_code.h"
#include "experiments/records/cell_file.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

FinishedCell ReadFinishedCell(const std::filesystem::path& run, const SweepPoint& point,
                              const CellKey& key) {
  const std::filesystem::path at = PointFolder(run, point);
  FinishedCell cell{
      .point = point.name, .key = key, .folder = CellFolder(at, key), .status = "missing"};
  std::error_code error;
  if (!std::filesystem::exists(cell.folder / kCellFileName, error)) return cell;
  try {
    const CellSummary summary = Summarize(at, key);
    cell.status = summary.status;
    cell.problem = summary.reason;
    cell.marks = summary.marks;
    cell.jobs = summary.jobs;
    cell.lost_jobs = summary.Lost();
    cell.makespan_s = summary.makespan_s;
  } catch (const InputError& damage) {
    cell.status = "damaged";
    cell.problem = damage.what();
  }
  return cell;
}

Json CellJson(const FinishedCell& cell) {
  const bool measured = cell.status == "done" || cell.status == "failed";
  const bool finished_any = cell.jobs == 0 || cell.lost_jobs < cell.jobs;
  return {{"name", ToString(cell.key)},
          {"point", cell.point.empty() ? Json() : Json(cell.point)},
          {"policy", cell.key.policy},
          {"elasticity", ToString(cell.key.elasticity)},
          {"trial", cell.key.trial},
          {"folder", cell.folder.string()},
          {"status", cell.status},
          {"problem", cell.problem.empty() ? Json() : Json(cell.problem)},
          {"marks", cell.marks},
          {"jobs", measured ? Json(cell.jobs) : Json()},
          {"lost_jobs", measured ? Json(cell.lost_jobs) : Json()},
          {"makespan_s", measured && finished_any ? Json(cell.makespan_s) : Json()}};
}

}  // namespace

size_t FinishedRun::Count(const std::string& status) const {
  return static_cast<size_t>(std::ranges::count(cells, status, &FinishedCell::status));
}

FinishedRun ReadFinishedRun(const Sweep& sweep, const Executed& executed, double seconds) {
  FinishedRun run{
      .experiment = sweep.name(), .executed = executed, .seconds = seconds, .cells = {}};
  for (const SweepCell& cell : NeededCells(sweep, executed.run))
    run.cells.push_back(ReadFinishedCell(executed.run, sweep.points[cell.point], cell.key));
  return run;
}

int ExitCodeOf(const Executed& executed) {
  if (executed.result.interrupted) return kInterrupted;
  return executed.result.failed + executed.result.with_failures > 0 ? kFailed : 0;
}

std::string ProblemsText(const Sweep& sweep, const Executed& executed,
                         const ExecuteOptions& options) {
  const HarnessResult& result = executed.result;
  if (result.interrupted) {
    return fmt::format("interrupted: {} of {} cells are kept in {}; continue with: {}\n",
                       executed.whole, sweep.cells.size(), executed.run.string(),
                       ResumeCommand(options));
  }
  std::string text;
  if (result.failed > 0) {
    text += fmt::format("{} of {} failed; cell.json there says why\n", result.failed,
                        Counted(static_cast<int64_t>(executed.whole), "cell"));
  }
  if (result.with_failures > 0) {
    text += fmt::format(
        "jobs failed in {}; jobs.csv there says why, beside it tenant-*.log what they said\n",
        Counted(result.with_failures, "cell"));
  }
  return text;
}

Json FinishedRunJson(const FinishedRun& run, const Json& comparison, int gates) {
  Json cells = Json::array();
  for (const FinishedCell& cell : run.cells) cells.push_back(CellJson(cell));
  const int exit_code = ExitCodeOf(run.executed);
  const auto count = [&run](auto matches) {
    return std::count_if(run.cells.begin(), run.cells.end(), matches);
  };
  return {{"schema", "cosched-run"},
          {"version", 1},
          {"exit", std::max(exit_code, gates)},
          {"status", exit_code == kInterrupted ? "interrupted"
                     : exit_code == 0          ? "done"
                                               : "failed"},
          {"experiment", run.experiment},
          {"run", run.executed.run.string()},
          {"seconds", run.seconds},
          {"counts",
           {{"cells", run.cells.size()},
            {"done", run.Count("done")},
            {"failed", run.Count("failed")},
            {"damaged", run.Count("damaged")},
            {"missing", run.Count("missing")},
            {"marked", count([](const FinishedCell& cell) { return !cell.marks.empty(); })},
            {"lossy", count([](const FinishedCell& cell) { return cell.lost_jobs > 0; })}}},
          {"cells", std::move(cells)},
          {"comparison", comparison}};
}

}  // namespace cosched
