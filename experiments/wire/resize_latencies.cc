#include "experiments/wire/resize_latencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace cosched {

StatusReply::Latencies LatenciesOf(const DurationHistogram& histogram) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  // A bucket's upper bound may lie above what is in it.
  const auto at = [&histogram](double quantile) {
    return duration_cast<microseconds>(std::min(histogram.Quantile(quantile), histogram.Max()));
  };
  return {histogram.Count(), at(0.5), at(0.9), at(0.99),
          duration_cast<microseconds>(histogram.Max())};
}

std::string LatencyLine(std::string_view name, const StatusReply::Latencies& latencies) {
  if (latencies.count == 0) return "";
  return fmt::format("{:<34} {:>4} times, p50 {} us, p90 {} us, p99 {} us, max {} us\n", name,
                     latencies.count, latencies.p50.count(), latencies.p90.count(),
                     latencies.p99.count(), latencies.max.count());
}

}  // namespace cosched
