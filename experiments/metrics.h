#pragma once
// Metrics of one whole cell, derived from its records (DESIGN.md, section 7 has the definitions). Reads files only, so that
// `cosched compare` gives the same figures as the run itself.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/records.h"

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
  double core_utilization = 0;      // CPU time of compute threads / (machine cores x makespan)
  double oversubscription = 0;      // ∫ max(0, R − C) dt / ∫ C dt
  double runqueue_wait_s_per_core_s = 0;
  double images_per_s = 0;
  double jain_index = 0;            // Over the jobs' speeds relative to … (defined in metrics.cc)
  int jobs = 0;
  int finished = 0;
  int failed = 0;
  int resizes = 0;
};

// Throws InputError naming the file and line if the records are malformed or the cell is not whole.
CellSummary Summarize(const std::filesystem::path& run, const CellKey& key);
// All whole cells of a run folder, sorted.
std::vector<CellKey> WholeCells(const std::filesystem::path& run);
// Writes summary.csv (by rename) from all whole cells of the run.
void WriteSummary(const std::filesystem::path& run);

}  // namespace cosched
