#pragma once
// Metrics of the services of one cell, derived from its requests.csv. Reads files only; called by
// metrics.cc.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cosched {

// One row of services.csv: what became of a service's requests. experiments/README.md (Metrics)
// defines its columns.
struct ServiceSummary {
  std::string service;
  int64_t requests = 0;
  int64_t served = 0;
  int64_t dropped = 0;
  std::optional<double> mean_latency_ms, p50_latency_ms, p95_latency_ms, p99_latency_ms,
      max_latency_ms;        // Absent if none was served.
  double offered_per_s = 0;  // Requests / (last schedule - first); not in services.csv.
  double throughput_per_s = 0;
  std::optional<double> slo_attainment;  // Absent where some request has no SLO.
  std::optional<double> goodput_per_s;   // The same.
  std::optional<double> mean_batch;      // Absent if none was served.
  double worst_lag_ms = 0;
};

// By name; none where the cell has no requests.csv. Throws InputError naming file and line of what
// is malformed.
std::vector<ServiceSummary> SummarizeRequests(const std::filesystem::path& cell);

// A row of services.csv behind those columns that name the cell, and what its columns are called.
std::string ServiceColumns();
std::string ServiceRow(const ServiceSummary& service);

}  // namespace cosched
