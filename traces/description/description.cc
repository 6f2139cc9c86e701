#include "traces/description/description.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "traces/arrivals/elapsed.h"

namespace cosched {
namespace {

bool Near(double a, double b, double relative_error) {
  return std::abs(a - b) <= relative_error * std::max(std::abs(a), std::abs(b));
}

// What two columns say is taken for the same if all this is. Where all say one thing, that it is
// the same says nothing.
bool Alike(const TraceDescription::Numbers& a, const TraceDescription::Numbers& b) {
  constexpr double kRounding = 1e-12;
  constexpr std::array kShares = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99};
  const NumberStatistics& x = *a.statistics;
  const NumberStatistics& y = *b.statistics;
  // Files write seconds.
  const double unit_x = a.unit == "s" ? 1e9 : 1, unit_y = b.unit == "s" ? 1e9 : 1;
  const auto near = [&](double in_x, double in_y, double error) {
    return Near(in_x / unit_x, in_y / unit_y, error);
  };
  return x.count() == y.count() && x.Min() < x.Max() && near(x.Sum(), y.Sum(), kRounding) &&
         near(x.Min(), y.Min(), kRounding) && near(x.Max(), y.Max(), kRounding) &&
         std::all_of(kShares.begin(), kShares.end(), [&](double share) {
           return near(x.Quantile(share), y.Quantile(share), 3 * ValueHistogram::kRelativeError);
         });
}

}  // namespace

TraceDescription::TraceDescription(std::span<const std::string> columns)
    : column_names_(columns.begin(), columns.end()), columns_(columns.size()) {
  for (size_t i = 0; i < columns.size(); ++i) open_columns_.push_back(i);
}

void TraceDescription::LeaveOut(size_t column) { std::erase(open_columns_, column); }

void TraceDescription::Add(const Arrival& arrival) {
  if (arrivals_ == 0) first_ = last_ = arrival.time;
  const Duration since = Elapsed(first_, arrival.time);
  if (arrivals_++ > 0) {
    CHECK(arrival.time >= last_) << "arrivals of a trace are in order of time";
    gaps_.Add(arrival.time - last_, since);
  }
  last_ = arrival.time;
  requests_ += arrival.kind == Arrival::Kind::kRequest;
  named_ += !arrival.tenant.empty();
  seconds_.Add(since);
  minutes_.Add(since);
  series_.Add(since);
  tenants_.Add(arrival.tenant);
  AddFacts(arrival);
  bool given_up = false;
  for (size_t column : open_columns_) {
    columns_[column].Add(arrival.attributes[column], since);
    given_up |= columns_[column].GivenUp();
  }
  if (given_up) {
    std::erase_if(open_columns_, [this](size_t column) { return columns_[column].GivenUp(); });
  }
}

void TraceDescription::AddFacts(const Arrival& arrival) {
  if (arrival.size) facts_[kSize].Add(*arrival.size);
  if (arrival.duration) facts_[kDuration].Add(int64_t{arrival.duration->count()});
  if (arrival.cores_min) facts_[kCoresMin].Add(int64_t{*arrival.cores_min});
  if (arrival.cores_preferred) facts_[kCoresPreferred].Add(int64_t{*arrival.cores_preferred});
  if (arrival.cores_max) facts_[kCoresMax].Add(int64_t{*arrival.cores_max});
  if (arrival.deadline) facts_[kDeadline].Add(int64_t{arrival.deadline->count()});
  if (arrival.priority) facts_[kPriority].Add(int64_t{*arrival.priority});
}

double TraceDescription::MeanRate() const {
  if (Span() == Duration{0}) return 0;
  return static_cast<double>(arrivals_ - 1) / ToSeconds(Span());
}

std::vector<TraceDescription::Numbers> TraceDescription::AllNumbers() const {
  struct FactName {
    std::string_view name, unit;
  };
  constexpr std::array<FactName, kFacts> kNames = {{{"size", ""},
                                                    {"duration", "s"},
                                                    {"cores_min", ""},
                                                    {"cores_preferred", ""},
                                                    {"cores_max", ""},
                                                    {"deadline", "s"},
                                                    {"priority", ""}}};
  std::vector<Numbers> all;
  for (size_t fact = 0; fact < kFacts; ++fact) {
    if (facts_[fact].count() == 0) continue;
    all.push_back({.name = std::string(kNames[fact].name),
                   .unit = kNames[fact].unit,
                   .statistics = &facts_[fact],
                   .missing = arrivals_ - facts_[fact].count()});
  }
  for (size_t column = 0; column < columns_.size(); ++column) {
    if (!columns_[column].IsNumbers()) continue;
    const Numbers numbers = {.name = column_names_[column],
                             .is_column = true,
                             .unit = "",
                             .statistics = &columns_[column].statistics(),
                             .missing = columns_[column].missing(),
                             .not_numbers = columns_[column].others()};
    const auto alike = std::find_if(all.begin(), all.end(),
                                    [&](const Numbers& other) { return Alike(other, numbers); });
    if (alike == all.end()) {
      all.push_back(numbers);
    } else {
      alike->also.push_back(numbers.name);
    }
  }
  return all;
}

TraceDescription Describe(TraceReader* reader) {
  Arrival arrival;
  bool more = reader->Next(&arrival);  // Columns may be known only now.
  TraceDescription description(reader->Columns());
  for (size_t column = 0; column < reader->Columns().size(); ++column) {
    if (reader->IsFact(column)) description.LeaveOut(column);
  }
  for (; more; more = reader->Next(&arrival)) description.Add(arrival);
  return description;
}

}  // namespace cosched
