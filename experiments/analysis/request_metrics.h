#pragma once
// Metrics of the services of one cell, derived from its requests.csv. Reads files only; called by
// metrics.cc.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/records/column.h"

namespace cosched {

// One row of services.csv: what became of a service's requests. experiments/README.md (Metrics)
// defines its columns.
struct ServiceSummary {
  std::string service;
  int64_t requests = 0;
  int64_t served = 0;
  int64_t dropped = 0;
  std::optional<double> mean_latency_ms, p50_latency_ms, p95_latency_ms, p99_latency_ms,
      max_latency_ms;                   // Absent if none was served.
  std::optional<double> p50_inside_ms;  // From when it was begun; not in services.csv.
  double offered_per_s = 0;             // Requests / (last schedule - first); not in services.csv.
  double throughput_per_s = 0;
  std::optional<double> slo_attainment;  // Absent where some request has no SLO.
  std::optional<double> goodput_per_s;   // The same.
  std::optional<double> mean_batch;      // Absent if none was served.
  double worst_lag_ms = 0;
  // Absent where the service has no objective of its mean response (window_metrics.h).
  std::optional<int64_t> windows, violated, windows_of_10, violated_110;
  std::optional<double> worst_window_ms;
  std::optional<double> device_share;  // Absent if none was served.
  // Of the windows; not in services.csv.
  std::optional<double> ViolatedShare() const {
    if (!windows || *windows == 0) return std::nullopt;
    return static_cast<double>(*violated) / static_cast<double>(*windows);
  }

  // Behind those of the cell's key.
  static constexpr auto Columns() {
    constexpr Decimals k6{6};
    return std::tuple{TableColumn{"service", &ServiceSummary::service},
                      TableColumn{"requests", &ServiceSummary::requests},
                      TableColumn{"served", &ServiceSummary::served},
                      TableColumn{"dropped", &ServiceSummary::dropped},
                      TableColumn{"mean_latency_ms", &ServiceSummary::mean_latency_ms, k6},
                      TableColumn{"p50_latency_ms", &ServiceSummary::p50_latency_ms, k6},
                      TableColumn{"p95_latency_ms", &ServiceSummary::p95_latency_ms, k6},
                      TableColumn{"p99_latency_ms", &ServiceSummary::p99_latency_ms, k6},
                      TableColumn{"max_latency_ms", &ServiceSummary::max_latency_ms, k6},
                      TableColumn{"throughput_per_s", &ServiceSummary::throughput_per_s, k6},
                      TableColumn{"slo_attainment", &ServiceSummary::slo_attainment, k6},
                      TableColumn{"goodput_per_s", &ServiceSummary::goodput_per_s, k6},
                      TableColumn{"mean_batch", &ServiceSummary::mean_batch, k6},
                      TableColumn{"worst_lag_ms", &ServiceSummary::worst_lag_ms, k6},
                      TableColumn{"windows", &ServiceSummary::windows},
                      TableColumn{"violated", &ServiceSummary::violated},
                      TableColumn{"windows_of_10", &ServiceSummary::windows_of_10},
                      TableColumn{"violated_110", &ServiceSummary::violated_110},
                      TableColumn{"worst_window_ms", &ServiceSummary::worst_window_ms, k6},
                      TableColumn{"device_share", &ServiceSummary::device_share, k6}};
  }
};

// By name; none where the cell has no requests.csv. Throws InputError naming file and line of what
// is malformed.
std::vector<ServiceSummary> SummarizeRequests(const std::filesystem::path& cell);

}  // namespace cosched
