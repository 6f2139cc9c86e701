#pragma once
// A trace that a test has written down arrival by arrival, behind the interface of a file's reader.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "traces/arrivals/trace_reader.h"

namespace cosched {

// Owns what an Arrival only views.
struct ListedArrival {
  Duration time{0};
  std::string tenant = {};
  std::optional<int64_t> size = {};
  std::optional<Duration> duration = {};
  std::vector<std::string> attributes = {};
};

class ListedArrivals final : public TraceReader {
 public:
  explicit ListedArrivals(std::vector<ListedArrival> arrivals,
                          std::vector<std::string> columns = {})
      : arrivals_(std::move(arrivals)), columns_(std::move(columns)) {}

  std::span<const std::string> Columns() const override { return columns_; }

  bool Next(Arrival* arrival) override {
    if (counts_.rows == static_cast<int64_t>(arrivals_.size())) return false;
    const ListedArrival& listed = arrivals_[counts_.rows++];
    attributes_.assign(listed.attributes.begin(), listed.attributes.end());
    *arrival = {};
    arrival->time = listed.time;
    arrival->tenant = listed.tenant;
    arrival->size = listed.size;
    arrival->duration = listed.duration;
    arrival->attributes = attributes_;
    return true;
  }

  int Line() const override { return 0; }
  Counts RowCounts() const override { return counts_; }

 private:
  const std::vector<ListedArrival> arrivals_;
  const std::vector<std::string> columns_;
  std::vector<std::string_view> attributes_;
  Counts counts_;
};

}  // namespace cosched
