#include "experiments/analysis/request_metrics.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "experiments/analysis/window_metrics.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {
namespace {

// Sums of one service, while its requests are read.
struct Sums {
  std::vector<int64_t> latencies_us, inside_us;
  int64_t requests = 0;
  int64_t in_time = 0;
  bool slo_known = true;
  int64_t first_us = 0, last_due_us = 0, last_us = 0;
  double batches = 0;
  int64_t by_devices = 0;
  int64_t worst_lag_us = 0;
  std::optional<WindowSums> windows;  // If it has objectives.
};

double MillisecondsOf(int64_t us) { return static_cast<double>(us) / 1e3; }

// REQUIRES: sorted, not empty.
double NearestRank(const std::vector<int64_t>& sorted, size_t percent) {
  return MillisecondsOf(sorted[(sorted.size() * percent + 99) / 100 - 1]);
}

void PutWindows(const WindowSummary& windows, ServiceSummary* summary) {
  summary->windows = windows.windows;
  summary->violated = windows.violated;
  summary->windows_of_10 = windows.tens;
  summary->violated_110 = windows.tens_violated;
  summary->worst_window_ms = windows.worst_window_ms;
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
  if (sums.windows) PutWindows(sums.windows->Summary(), &summary);
  if (sums.latencies_us.empty()) return summary;
  std::sort(sums.latencies_us.begin(), sums.latencies_us.end());
  const auto served = static_cast<double>(summary.served);
  summary.mean_latency_ms = MillisecondsOf(std::accumulate(sums.latencies_us.begin(),
                                                           sums.latencies_us.end(), int64_t{0})) /
                            served;
  summary.p50_latency_ms = NearestRank(sums.latencies_us, 50);
  std::sort(sums.inside_us.begin(), sums.inside_us.end());
  summary.p50_inside_ms = NearestRank(sums.inside_us, 50);
  summary.p95_latency_ms = NearestRank(sums.latencies_us, 95);
  summary.p99_latency_ms = NearestRank(sums.latencies_us, 99);
  summary.max_latency_ms = MillisecondsOf(sums.latencies_us.back());
  summary.mean_batch = sums.batches / served;
  summary.device_share = static_cast<double>(sums.by_devices) / served;
  return summary;
}

}  // namespace

std::vector<ServiceSummary> SummarizeRequests(const std::filesystem::path& cell) {
  if (!HasTable<RequestRow>(cell)) return {};
  RowReader<RequestRow> reader(cell, &RequestRow::service, &RequestRow::scheduled,
                               &RequestRow::sent, &RequestRow::started, &RequestRow::finished,
                               &RequestRow::batch, &RequestRow::slo_ms, &RequestRow::device);
  const std::map<std::string, WindowObjectives, std::less<>> objectives = ReadObjectives(cell);
  std::map<std::string, Sums, std::less<>> services;
  while (const RequestRow* request = reader.Next()) {
    auto place = services.find(request->service);
    if (place == services.end()) {
      place = services.emplace(request->service, Sums()).first;
      if (const auto found = objectives.find(request->service); found != objectives.end())
        place->second.windows.emplace(found->second);
    }
    Sums& sums = place->second;
    const int64_t due = WholeMicroseconds(request->scheduled);
    sums.first_us = sums.requests == 0 ? due : std::min(sums.first_us, due);
    sums.last_due_us = std::max(sums.last_due_us, due);
    sums.worst_lag_us = std::max(sums.worst_lag_us, WholeMicroseconds(request->sent) - due);
    sums.slo_known = sums.slo_known && request->slo_ms;
    ++sums.requests;
    if (sums.windows) {
      const auto answered =
          request->finished ? std::optional(WholeMicroseconds(*request->finished)) : std::nullopt;
      sums.windows->Add(due, answered);
    }
    if (!request->finished) continue;
    const int64_t answer = WholeMicroseconds(*request->finished);
    sums.last_us = std::max(sums.last_us, answer);
    sums.latencies_us.push_back(answer - due);
    sums.inside_us.push_back(answer - WholeMicroseconds(reader.Needed(&RequestRow::started)));
    sums.by_devices += !request->device.empty();
    sums.batches += static_cast<double>(reader.Needed(&RequestRow::batch));
    sums.in_time += request->slo_ms && answer - due <= WholeMicroseconds(*request->slo_ms / 1e3);
  }
  std::vector<ServiceSummary> summaries;
  for (auto& [name, sums] : services) summaries.push_back(Summary(name, std::move(sums)));
  return summaries;
}

}  // namespace cosched
