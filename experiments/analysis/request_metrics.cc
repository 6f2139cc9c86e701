#include "experiments/analysis/request_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "experiments/records/csv.h"

namespace cosched {
namespace {

// Of one service, while its requests are read.
struct Sums {
  std::vector<int64_t> latencies_us;
  int64_t requests = 0;
  int64_t in_time = 0;
  bool slo_known = true;
  int64_t first_us = 0, last_due_us = 0, last_us = 0;
  double batches = 0;
  int64_t worst_lag_us = 0;
};

// Times are written to the microsecond, so that these are exact.
int64_t WholeMicroseconds(double seconds) { return std::llround(seconds * 1e6); }
double MillisecondsOf(int64_t us) { return static_cast<double>(us) / 1e3; }

// REQUIRES: sorted, not empty.
double NearestRank(const std::vector<int64_t>& sorted, size_t percent) {
  return MillisecondsOf(sorted[(sorted.size() * percent + 99) / 100 - 1]);
}

ServiceSummary Summary(const std::string& service, Sums sums) {
  ServiceSummary summary;
  summary.service = service;
  summary.requests = sums.requests;
  summary.served = static_cast<int64_t>(sums.latencies_us.size());
  summary.dropped = summary.requests - summary.served;
  summary.worst_lag_ms = MillisecondsOf(sums.worst_lag_us);
  const auto per_second = [&sums](int64_t count, int64_t until_us) {
    const double span_s = MillisecondsOf(until_us - sums.first_us) / 1e3;
    return span_s > 0 ? static_cast<double>(count) / span_s : 0;
  };
  summary.offered_per_s = per_second(summary.requests, sums.last_due_us);
  summary.throughput_per_s = per_second(summary.served, sums.last_us);
  if (sums.slo_known) {
    summary.slo_attainment =
        static_cast<double>(sums.in_time) / static_cast<double>(summary.requests);
    summary.goodput_per_s = per_second(sums.in_time, sums.last_us);
  }
  if (sums.latencies_us.empty()) return summary;
  std::sort(sums.latencies_us.begin(), sums.latencies_us.end());
  const auto served = static_cast<double>(summary.served);
  summary.mean_latency_ms = MillisecondsOf(std::accumulate(sums.latencies_us.begin(),
                                                           sums.latencies_us.end(), int64_t{0})) /
                            served;
  summary.p50_latency_ms = NearestRank(sums.latencies_us, 50);
  summary.p95_latency_ms = NearestRank(sums.latencies_us, 95);
  summary.p99_latency_ms = NearestRank(sums.latencies_us, 99);
  summary.max_latency_ms = MillisecondsOf(sums.latencies_us.back());
  summary.mean_batch = sums.batches / served;
  return summary;
}

}  // namespace

std::vector<ServiceSummary> SummarizeRequests(const std::filesystem::path& cell) {
  const std::filesystem::path file = cell / "requests.csv";
  if (!std::filesystem::exists(PlainOrCompressed(file))) return {};
  CsvReader reader(file);
  const size_t service = reader.Column("service"), scheduled = reader.Column("scheduled"),
               sent = reader.Column("sent"), finished = reader.Column("finished"),
               batch = reader.Column("batch"), slo = reader.Column("slo_ms");
  std::map<std::string, Sums, std::less<>> services;
  while (reader.Next()) {
    auto place = services.find(reader.Text(service));
    if (place == services.end()) place = services.emplace(reader.Text(service), Sums()).first;
    Sums& sums = place->second;
    const int64_t due = WholeMicroseconds(reader.Number(scheduled));
    sums.first_us = sums.requests == 0 ? due : std::min(sums.first_us, due);
    sums.last_due_us = std::max(sums.last_due_us, due);
    sums.worst_lag_us = std::max(sums.worst_lag_us, WholeMicroseconds(reader.Number(sent)) - due);
    sums.slo_known = sums.slo_known && !reader.Empty(slo);
    ++sums.requests;
    if (reader.Empty(finished)) continue;
    const int64_t answer = WholeMicroseconds(reader.Number(finished));
    sums.last_us = std::max(sums.last_us, answer);
    sums.latencies_us.push_back(answer - due);
    sums.batches += reader.Number(batch);
    sums.in_time +=
        !reader.Empty(slo) && answer - due <= WholeMicroseconds(reader.Number(slo) / 1e3);
  }
  std::vector<ServiceSummary> summaries;
  for (auto& [name, sums] : services) summaries.push_back(Summary(name, std::move(sums)));
  return summaries;
}

std::string ServiceColumns() {
  return "service,requests,served,dropped,mean_latency_ms,p50_latency_ms,p95_latency_ms,"
         "p99_latency_ms,max_latency_ms,throughput_per_s,slo_attainment,goodput_per_s,mean_batch,"
         "worst_lag_ms";
}

std::string ServiceRow(const ServiceSummary& s) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6f}", *value) : "";
  };
  return fmt::format("{},{},{},{},{},{},{},{},{},{:.6f},{},{},{},{:.6f}", s.service, s.requests,
                     s.served, s.dropped, optional(s.mean_latency_ms), optional(s.p50_latency_ms),
                     optional(s.p95_latency_ms), optional(s.p99_latency_ms),
                     optional(s.max_latency_ms), s.throughput_per_s, optional(s.slo_attainment),
                     optional(s.goodput_per_s), optional(s.mean_batch), s.worst_lag_ms);
}

}  // namespace cosched
