#pragma once
// Metrics of one whole cell, derived from its records: what each column of summary.csv means is
// defined here and nowhere else. Reads files only, so that `cosched compare` gives the same figures
// as the run itself; called by the commands, from any thread. Times are in seconds.
//
// Threads and cores. R(t) is the number of runnable compute threads that are not spinning (looking
// for work); C(t) the number of distinct cores granted; r and c are the same of one tenant. A
// sample's values hold until the job's next one, the last ones until its end. But when any job
// starts, what the next sample says holds at once, for it and for those that run: it counts from
// its first instant, and a start is when cores change hands.
//   * core_utilization ("used"): CPU time of compute threads, less what they spun, over machine
//     cores x makespan. Waiting for work is no use of a core.
//   * oversubscription: ∫ max(0, R − C) dt / ∫ C dt, the machine as a whole: one tenant's idle
//     cores cancel another's excess, and tenants that share a core without control count in R each.
//   * tenant_oversubscription: Σ over tenants ∫ max(0, r − c) dt / ∫ C dt: nothing cancels, but
//     threads of tenants that were granted the same cores are not added up.
//   * worst_tenant_oversubscription: ∫ max(0, r − c) dt / ∫ c dt, the most of any tenant.
//   * Run-queue wait, switches, migrations, throttled time and pressure are divided by ∫ C dt. They
//     and CPU time are those of a job's last sample, so that they miss at most one sampling period.
//
// Jobs.
//   * lost = failed + rejected + cancelled = jobs − finished. Means, the longest wait, the 95th
//     percentile (nearest rank) and throughput are over finished jobs, makespan to the last end of
//     any job: a cell that lost jobs did less work, so none of these can be held against a cell
//     that lost none.
//   * mean_stretch: turnaround over the job's execution in this very cell. It tells waiting only: a
//     policy that starts everything at once on one core has 1.
//   * mean_slowdown: turnaround over what the job takes by itself on its preferred cores (alone_s
//     in jobs.csv: its steps over its speed in the profile, with its own threads if it is rigid).
//     Of the jobs for which a profile tells; absent if there is none.
//   * A job's relative progress is (steps x s) / turnaround, where s is the best execution time per
//     step of any finished job of the same workload in the cell: 1 for a job that never waited and
//     was never slowed, and 1 / stretch where a workload has one job only. jain_index of it is 1 if
//     all jobs suffer alike, 1/n if one gets everything.
//   * A service is no job to these means, to throughput, slowdown and Jain's index: it lasts as
//     long as the trace. Its row of jobs.csv counts in jobs, finished, failed, lost, resizes and
//     the makespan.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/analysis/request_metrics.h"
#include "experiments/records/cell_records.h"

namespace cosched {

// One row of summary.csv.
struct CellSummary {
  CellKey key;
  double makespan_s = 0;
  double throughput_jobs_per_hour = 0;
  double mean_wait_s = 0;
  double max_wait_s = 0;
  double mean_execution_s = 0;
  double mean_turnaround_s = 0;
  double p95_turnaround_s = 0;
  double mean_stretch = 0;
  std::optional<double> mean_slowdown;  // Absent where no job's time by itself is known.
  // These, down to images_per_s, come from samples: absent where nobody was sampled.
  std::optional<double> core_utilization;
  std::optional<double> oversubscription;
  std::optional<double> tenant_oversubscription;
  std::optional<double> worst_tenant_oversubscription;
  std::optional<double> runqueue_wait_s_per_core_s;
  std::optional<double> involuntary_switches_per_core_s;
  std::optional<double> migrations_per_core_s;
  // Time in which a CPU quota was used up, and in which a thread waited for a CPU (PSI "some"), of
  // the tenants that have a cgroup which tells; absent if none has.
  std::optional<double> throttled_s_per_core_s;
  std::optional<double> pressure_s_per_core_s;
  std::optional<double> images_per_s;
  double jain_index = 0;  // Of the finished jobs' relative progress.
  int jobs = 0;
  int finished = 0;
  int failed = 0;
  int rejected = 0;
  int cancelled = 0;
  int Lost() const { return failed + rejected + cancelled; }
  int resizes = 0;  // Changes of a started job's number of cores, all jobs together
  // "done" or "failed"; failed cells are rows too, but no comparison may use their figures.
  std::string status = "done";
  std::string reason;  // Why the cell failed; not in summary.csv.
  // What a reader must know of the cell (CellRecords::Mark); summary.csv has them in one column,
  // and in another whether there is any.
  std::vector<std::string> marks;
  std::vector<ServiceSummary> services;  // By name, where requests were recorded.
};

// Reads jobs.csv row by row and keeps a number a job, where there are no samples. Throws InputError
// naming the file and line if the records are malformed or the cell is not whole.
CellSummary Summarize(const std::filesystem::path& run, const CellKey& key);

// Whether a cell's tenants (that were sampled, and are as elastic as the cell) ever had more
// runnable compute threads than cores granted, over the samples in which no grant was under way.
struct ThreadExcess {
  int64_t samples = 0;    // Not settling.
  int64_t exceeding = 0;  // Of these, with runnable threads > granted cores.
  int worst = 0;          // The largest runnable − granted; 0 if never positive.
};
ThreadExcess FindThreadExcess(const std::filesystem::path& run, const CellKey& key);

// All whole cells of a run folder, sorted.
std::vector<CellKey> WholeCells(const std::filesystem::path& run);
// Writes summary.csv (by rename) from all whole cells of the run, and services.csv where there are
// services.
void WriteSummary(const std::filesystem::path& run);

}  // namespace cosched
