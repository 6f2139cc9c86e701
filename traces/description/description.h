#pragma once
// What `cosched trace describe` says of a trace, gathered arrival by arrival in memory that does
// not grow with the trace (some MB; a tenant costs its name, up to TenantShares::kMostTenants of
// them). The definitions are those of the parts in traces/description/. Not thread-safe.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/arrivals/arrival.h"
#include "traces/arrivals/trace_reader.h"
#include "traces/description/column_numbers.h"
#include "traces/description/inter_arrival_times.h"
#include "traces/description/number_statistics.h"
#include "traces/description/rate_series.h"
#include "traces/description/tenant_shares.h"
#include "traces/description/window_counts.h"

namespace cosched {

class TraceDescription {
 public:
  explicit TraceDescription(std::span<const std::string> columns);
  // Columns that need not be looked at because a fact of theirs is.
  void LeaveOut(size_t column);

  void Add(const Arrival& arrival);

  int64_t arrivals() const { return arrivals_; }
  int64_t requests() const { return requests_; }  // The other arrivals are jobs.
  Duration first() const { return first_; }       // As Arrival::time.
  Duration Span() const { return last_ - first_; }
  // Per second, from the first arrival to the last: 1 / mean inter-arrival time. 0 without a span.
  double MeanRate() const;
  const InterArrivalTimes& gaps() const { return gaps_; }
  WindowCounts::Summary Seconds() const { return seconds_.Summarize(); }
  WindowCounts::Summary Minutes() const { return minutes_.Summarize(); }
  const RateSeries& series() const { return series_; }
  TenantShares::Summary Tenants(size_t most_listed) const {
    return tenants_.Summarize(most_listed);
  }
  bool NamesTenants() const { return named_ > 0; }

  // A fact that all formats share, or a column of this one's.
  struct Numbers {
    std::string name;        // "size", or the column's.
    bool is_column = false;  // The numbers are the file's own; else this unit is theirs:
    std::string_view unit;   // "s" or "".
    const NumberStatistics* statistics = nullptr;  // Durations in nanoseconds.
    int64_t missing = 0;                           // Arrivals without it.
    int64_t not_numbers = 0;
    std::vector<std::string> also = {};  // Columns of which all this is true as well.
  };
  // What was found at least once, shared facts first, then columns in the file's order.
  std::vector<Numbers> AllNumbers() const;

 private:
  enum Fact {
    kSize,
    kDuration,
    kCoresMin,
    kCoresPreferred,
    kCoresMax,
    kDeadline,
    kPriority,
    kFacts
  };

  void AddFacts(const Arrival& arrival);

  const std::vector<std::string> column_names_;
  int64_t arrivals_ = 0;
  int64_t requests_ = 0;
  int64_t named_ = 0;  // Arrivals with a tenant.
  Duration first_{0};
  Duration last_{0};
  InterArrivalTimes gaps_;
  WindowCounts seconds_{std::chrono::seconds(1)};
  WindowCounts minutes_{std::chrono::minutes(1)};
  RateSeries series_;
  TenantShares tenants_;
  std::array<NumberStatistics, kFacts> facts_;
  std::vector<ColumnNumbers> columns_;
  std::vector<size_t> open_columns_;  // Not given up.
};

// Reads a trace to its end.
TraceDescription Describe(TraceReader* reader);

}  // namespace cosched
