#pragma once
// Metrics of one whole cell, derived from its records (DESIGN.md, section 7 has the definitions).
// Reads files only, so that `cosched compare` gives the same figures as the run itself.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/records.h"
#include "experiments/request_metrics.h"

namespace cosched {

// One row of summary.csv.
struct CellSummary {
  CellKey key;
  double makespan_s = 0;
  double throughput_jobs_per_hour = 0;
  double mean_wait_s = 0;
  double mean_execution_s = 0;
  double mean_turnaround_s = 0;
  double mean_stretch = 0;
  // These, down to images_per_s, come from samples: absent where nobody was sampled.
  // CPU time of compute threads / (machine cores x makespan)
  std::optional<double> core_utilization;
  std::optional<double> oversubscription;  // ∫ max(0, R − C) dt / ∫ C dt
  // The same of one tenant's threads and grant, the most
  std::optional<double> worst_tenant_oversubscription;
  std::optional<double> runqueue_wait_s_per_core_s;
  std::optional<double> involuntary_switches_per_core_s;
  std::optional<double> migrations_per_core_s;
  // Time in which a CPU quota was used up, and in which a thread waited for a CPU (PSI "some"), of
  // the tenants that have a cgroup which tells; absent if none has.
  std::optional<double> throttled_s_per_core_s;
  std::optional<double> pressure_s_per_core_s;
  std::optional<double> images_per_s;
  double jain_index = 0;  // Of the finished jobs' relative progress (see below)
  int jobs = 0;
  int finished = 0;
  int failed = 0;
  int resizes = 0;  // Changes of a started job's number of cores, all jobs together
  // "done" or "failed"; failed cells are rows too, but no comparison may use their figures.
  std::string status = "done";
  // Not in summary.csv: why the cell failed, and what a reader must know (CellRecords::Mark).
  std::string reason;
  std::vector<std::string> marks;
  std::vector<ServiceSummary> services;  // By name, where requests were recorded.
};

// Where the definitions leave room:
//   * Means are over finished jobs; makespan runs to the last end of any job.
//   * A service is no job to these means, to throughput and to Jain's index: it lasts as long as
//   the
//     trace. Its row of jobs.csv counts in jobs, finished, failed, resizes and the makespan.
//   * A sample's values hold until the job's next sample, the last ones until its end.
//   * CPU time, run-queue wait, switches, migrations, throttled time and pressure are those of a
//     job's last sample, so they miss at most one sampling period of each job. All but CPU time are
//     divided by ∫ C dt.
//   * A job's relative progress is (steps × s) / turnaround, where s is the best execution time per
//     step of any finished job of the same workload in the cell: 1 for a job that never waited and
//     was never slowed, and 1 / stretch where a workload has one job only. Jain's index of it is 1
//     if all jobs suffer alike, 1/n if one gets everything.

// Reads jobs.csv row by row: its size is no matter where there are no samples. Throws InputError
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
