#pragma once
// Metrics of one whole cell, derived from its records. What each column of summary.csv means is
// defined in experiments/README.md (Metrics) and nowhere else; names here are the columns'. Reads
// files only, so that `cosched compare` gives the same figures as the run itself; called by the
// commands, from any thread. Times are in seconds.

#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/analysis/request_metrics.h"
#include "experiments/records/cell_records.h"
#include "experiments/records/column.h"

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
  // Absent if no tenant has a cgroup which tells.
  std::optional<double> throttled_s_per_core_s;
  std::optional<double> pressure_s_per_core_s;
  std::optional<double> images_per_s;
  // CPU time: granted to jobs, used or not, and worked; absent where grants, or samples, are not
  // recorded.
  std::optional<double> granted_core_s, used_core_s;
  std::optional<double> device_busy_s;  // Absent where no device was held.
  // Absent where no tenant has changed NUMA nodes.
  std::optional<int64_t> node_moves;
  std::optional<double> memory_moved_mb;
  double jain_index = 0;
  int jobs = 0;
  int finished = 0;
  int failed = 0;
  int rejected = 0;
  int cancelled = 0;
  int Lost() const { return failed + rejected + cancelled; }
  int resizes = 0;
  // "done" or "failed"; failed cells are rows too.
  std::string status = "done";
  std::string reason;  // Why the cell failed; not in summary.csv.
  // What a reader must know of the cell (CellRecords::Mark); summary.csv has them in one column,
  // and in another whether there is any.
  std::vector<std::string> marks;
  std::vector<ServiceSummary> services;  // By name, where requests were recorded.

  std::string MarksText() const;  // On one line.

  // Behind those of its key.
  static constexpr auto Columns() {
    constexpr Decimals k6{6};
    return std::tuple{
        TableColumn{"makespan_s", &CellSummary::makespan_s, k6},
        TableColumn{"throughput_jobs_per_hour", &CellSummary::throughput_jobs_per_hour, k6},
        TableColumn{"mean_wait_s", &CellSummary::mean_wait_s, k6},
        TableColumn{"mean_execution_s", &CellSummary::mean_execution_s, k6},
        TableColumn{"mean_turnaround_s", &CellSummary::mean_turnaround_s, k6},
        TableColumn{"mean_stretch", &CellSummary::mean_stretch, k6},
        TableColumn{"core_utilization", &CellSummary::core_utilization, k6},
        TableColumn{"oversubscription", &CellSummary::oversubscription, k6},
        TableColumn{"runqueue_wait_s_per_core_s", &CellSummary::runqueue_wait_s_per_core_s, k6},
        TableColumn{"images_per_s", &CellSummary::images_per_s, k6},
        TableColumn{"jain_index", &CellSummary::jain_index, k6},
        TableColumn{"jobs", &CellSummary::jobs},
        TableColumn{"finished", &CellSummary::finished},
        TableColumn{"failed", &CellSummary::failed},
        TableColumn{"resizes", &CellSummary::resizes},
        TableColumn{"status", &CellSummary::status},
        TableColumn{"worst_tenant_oversubscription", &CellSummary::worst_tenant_oversubscription,
                    k6},
        TableColumn{"involuntary_switches_per_core_s",
                    &CellSummary::involuntary_switches_per_core_s, k6},
        TableColumn{"migrations_per_core_s", &CellSummary::migrations_per_core_s, k6},
        TableColumn{"throttled_s_per_core_s", &CellSummary::throttled_s_per_core_s, k6},
        TableColumn{"pressure_s_per_core_s", &CellSummary::pressure_s_per_core_s, k6},
        TableColumn{"rejected", &CellSummary::rejected},
        TableColumn{"cancelled", &CellSummary::cancelled},
        TableColumn{"lost", &CellSummary::Lost},
        TableColumn{"max_wait_s", &CellSummary::max_wait_s, k6},
        TableColumn{"p95_turnaround_s", &CellSummary::p95_turnaround_s, k6},
        TableColumn{"mean_slowdown", &CellSummary::mean_slowdown, k6},
        TableColumn{"tenant_oversubscription", &CellSummary::tenant_oversubscription, k6},
        TableColumn{"granted_core_s", &CellSummary::granted_core_s, k6},
        TableColumn{"used_core_s", &CellSummary::used_core_s, k6},
        TableColumn{"marks", &CellSummary::MarksText},
        TableColumn{"marked", [](const CellSummary& summary) { return !summary.marks.empty(); }},
        TableColumn{"device_busy_s", &CellSummary::device_busy_s, k6},
        TableColumn{"node_moves", &CellSummary::node_moves},
        TableColumn{"memory_moved_mb", &CellSummary::memory_moved_mb, k6}};
  }
};

// Reads jobs.csv row by row and keeps a number a job, where there are no samples. Throws InputError
// naming the file and line if the records are malformed or the cell is not whole.
CellSummary Summarize(const std::filesystem::path& run, const CellKey& key);

// Whether a cell's tenants (that were sampled, and are as elastic as the cell) ever had more
// runnable compute threads than cores granted, over the samples in which no grant was under way.
struct ThreadExcess {
  int64_t samples = 0;    // Not settling.
  int64_t exceeding = 0;  // Those with runnable threads > granted cores.
  int worst = 0;          // The largest runnable − granted; 0 if never positive.
};
ThreadExcess FindThreadExcess(const std::filesystem::path& run, const CellKey& key);

// All whole cells of a run folder, sorted.
std::vector<CellKey> WholeCells(const std::filesystem::path& run);
// Writes summary.csv (by rename) from all whole cells of the run, and services.csv where there are
// services.
void WriteSummary(const std::filesystem::path& run);

}  // namespace cosched
