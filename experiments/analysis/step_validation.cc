#include "experiments/analysis/step_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "experiments/analysis/metrics.h"
#include "experiments/analysis/statistics.h"
#include "experiments/records/cell_file.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"
#include "workloads/profile.h"

namespace cosched {
namespace {

constexpr size_t kFewest = 10;       // Samples of a kind, in each world.
constexpr size_t kFewestInCell = 5;  // For a cell's own mean.

// "steps", "first steps", "starts" or "stops"; workload; cores; whether others are on them.
using StepKind = std::tuple<std::string, std::string, int, bool>;
using Times = std::map<StepKind, std::vector<double>>;

struct JobTimes {
  std::string workload;
  double started = 0, finished = 0;
  std::vector<double> ends;  // Ends of its steps.
  double first_begin = 0;    // Begin of its first step.
};

// Who holds what, from one change to the next.
class Holdings {
 public:
  explicit Holdings(const std::filesystem::path& cell) {
    RowReader<GrantRow> reader(cell, &GrantRow::time, &GrantRow::job_id, &GrantRow::kind,
                               &GrantRow::cores);
    std::map<int64_t, CpuSet> held;
    while (const GrantRow* grant = reader.Next()) {
      if (grant->kind != "granted" && grant->kind != "released") continue;
      held[grant->job_id] = grant->kind == "released" ? CpuSet() : grant->cores;
      changes_.emplace_back(grant->time, held);
    }
  }

  struct State {
    int cores;
    bool shared;
  };
  // nullopt: something changed in between, or the job holds nothing.
  std::optional<State> During(int64_t job, double begin, double end) const {
    const auto after = [this](double time) {
      return std::upper_bound(changes_.begin(), changes_.end(), time,
                              [](double t, const auto& change) { return t < change.first; });
    };
    const auto change = after(begin);
    if (change == changes_.begin() || change != after(end)) return std::nullopt;
    const std::map<int64_t, CpuSet>& held = std::prev(change)->second;
    const auto own = held.find(job);
    if (own == held.end() || own->second.Empty()) return std::nullopt;
    const bool shared = std::any_of(held.begin(), held.end(), [&](const auto& other) {
      return other.first != job && !(other.second & own->second).Empty();
    });
    return State{own->second.Count(), shared};
  }

 private:
  std::vector<std::pair<double, std::map<int64_t, CpuSet>>> changes_;
};

std::map<int64_t, JobTimes> ReadJobTimes(const std::filesystem::path& cell) {
  std::map<int64_t, JobTimes> jobs;
  RowReader<JobRow> reader(cell, &JobRow::job_id, &JobRow::workload, &JobRow::starting_time,
                           &JobRow::finish_time, &JobRow::state);
  while (const JobRow* row = reader.Next()) {
    if (row->state != "finished") continue;
    JobTimes& job = jobs[row->job_id];
    job.workload = row->workload;
    job.started = reader.Needed(&JobRow::starting_time);
    job.finished = row->finish_time;
  }
  RowReader<StepRow> steps(cell, &StepRow::job_id, &StepRow::time, &StepRow::duration_ms);
  while (const StepRow* step = steps.Next()) {
    const auto found = jobs.find(step->job_id);
    if (found == jobs.end()) continue;
    if (found->second.ends.empty())
      found->second.first_begin = step->time - step->duration_ms * 1e-3;
    found->second.ends.push_back(step->time);
  }
  return jobs;
}

Times ReadTimes(const std::filesystem::path& cell) {
  Times times;
  if (!HasTable<StepRow>(cell)) return times;
  const Holdings holdings(cell);
  for (const auto& entry : ReadJobTimes(cell)) {
    const auto id = entry.first;
    const auto& job = entry.second;
    const auto add = [&](const char* what, double begin, double end) {
      const auto state = holdings.During(id, begin, end);
      if (state) times[{what, job.workload, state->cores, state->shared}].push_back(end - begin);
    };
    if (job.ends.empty()) continue;
    add("starts", job.started, job.first_begin);
    add("first steps", job.first_begin, job.ends.front());
    for (size_t i = kWarmUpSteps; i < job.ends.size(); ++i)
      add("steps", job.ends[i - 1], job.ends[i]);
    // Up to the release, which is the change that the finish makes.
    add("stops", job.ends.back(), job.finished - 1e-6);
  }
  return times;
}

struct StepErrors {
  std::vector<double> measured, simulated;
  std::vector<double> cells;  // Means of measured ones by cell.
};

std::map<StepKind, StepErrors> ReadStepErrors(const std::vector<ValidationRuns>& runs) {
  std::map<StepKind, StepErrors> rows;
  for (const ValidationRuns& run : runs) {
    for (const CellKey& key : WholeCells(run.measured)) {
      const std::filesystem::path simulated = CellFolder(run.simulated, key);
      std::error_code ignored;
      if (!std::filesystem::exists(simulated / kCellFileName, ignored)) continue;
      for (const auto& [kind, values] : ReadTimes(CellFolder(run.measured, key))) {
        StepErrors& row = rows[kind];
        row.measured.insert(row.measured.end(), values.begin(), values.end());
        if (values.size() >= kFewestInCell) row.cells.push_back(Mean(values));
      }
      for (const auto& [kind, values] : ReadTimes(simulated)) {
        StepErrors& row = rows[kind];
        row.simulated.insert(row.simulated.end(), values.begin(), values.end());
      }
    }
  }
  return rows;
}

}  // namespace

std::vector<StepTimes> CompareSteps(const std::vector<ValidationRuns>& runs) {
  std::vector<StepTimes> kinds;
  for (const auto& [kind, row] : ReadStepErrors(runs)) {
    if (std::min(row.measured.size(), row.simulated.size()) < kFewest) continue;
    const auto& [what, workload, cores, shared] = kind;
    kinds.push_back({.what = what,
                     .workload = workload,
                     .cores = cores,
                     .shared = shared,
                     .measured = Mean(row.measured),
                     .simulated = Mean(row.simulated),
                     .cells = std::nullopt});
    if (row.cells.size() >= 2)
      kinds.back().cells = {Quantile(row.cells, 0.1), Quantile(row.cells, 0.9)};
  }
  return kinds;
}

std::string StepTimesTable(const std::vector<StepTimes>& kinds) {
  if (kinds.empty()) return "";
  std::string text =
      fmt::format("\n{:<52} {:>10} {:>10} {:>8}  {}\n", "what jobs' times are made of, means in ms",
                  "measured", "simulated", "error", "measured, by cell (tenths)");
  for (const StepTimes& kind : kinds) {
    text += fmt::format("{:<52} {:>10.2f} {:>10.2f} {:>+6.1f} %  ",
                        fmt::format("{} of {} on {} {}core{}", kind.what, kind.workload, kind.cores,
                                    kind.shared ? "shared " : "", kind.cores == 1 ? "" : "s"),
                        kind.measured * 1e3, kind.simulated * 1e3,
                        (kind.simulated / kind.measured - 1) * 100);
    text += !kind.cells ? "-\n"
                        : fmt::format("{:.2f} to {:.2f}\n", kind.cells->first * 1e3,
                                      kind.cells->second * 1e3);
  }
  return text;
}

}  // namespace cosched
