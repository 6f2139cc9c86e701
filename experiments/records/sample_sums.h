#pragma once
// What the samples of a cell add up to: the integrals of R and C, and the kernel's counters
// (experiments/README.md, Metrics, defines them). Reads files only; called by metrics.cc, from any
// thread. Times are seconds of the cell.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

namespace cosched {

// The life of a job, from jobs.csv.
struct JobSpan {
  std::optional<double> started;  // Absent if it never was.
  double finished = 0;
};

// Load of runnable threads on cores, over some time.
struct ThreadLoad {
  double core_seconds = 0;    // ∫ C dt
  double excess_seconds = 0;  // ∫ max(0, R − C) dt

  void Add(double elapsed, int cores, int threads);
  double Oversubscription() const { return core_seconds > 0 ? excess_seconds / core_seconds : 0; }
};

// What the kernel and the pools have counted for a job, or for all.
struct Counters {
  double run_time_s = 0;
  double spin_time_s = 0;  // Part of run_time_s.
  double run_queue_wait_s = 0;
  double involuntary_switches = 0;
  double migrations = 0;
  std::optional<double> throttled_us;
  std::optional<double> pressure_us;
};

struct SampleSums {
  ThreadLoad machine;                     // R of all tenants together, distinct cores.
  std::map<int64_t, ThreadLoad> tenants;  // Each with its own threads and grant, by job.
  Counters counters;

  // ∫ max(0, r − c) dt of every tenant for itself, over the machine's ∫ C dt.
  double TenantOversubscription() const;
  double WorstTenantOversubscription() const;
  double WorkSeconds() const { return counters.run_time_s - counters.spin_time_s; }
};

// jobs: all of the cell. Throws InputError naming file and line of what is malformed.
SampleSums SumSamples(const std::filesystem::path& cell, const std::map<int64_t, JobSpan>& jobs);

}  // namespace cosched
