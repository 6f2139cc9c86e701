#include "traces/survey.h"

#include <algorithm>
#include <utility>

#include "traces/arrivals/elapsed.h"
#include "traces/input/numbers.h"

namespace cosched {
namespace {

bool IsSplit(Duration time) { return time % std::chrono::seconds(1) != Duration{0}; }

bool Has(const Arrival& arrival, Fact fact) {
  switch (fact) {
    case kTime: return true;
    case kRequest: return arrival.kind == Arrival::Kind::kRequest;
    case kTenant: return !arrival.tenant.empty();
    case kSize: return arrival.size.has_value();
    case kDuration: return arrival.duration.has_value();
    case kCoresMin: return arrival.cores_min.has_value();
    case kCoresPreferred: return arrival.cores_preferred.has_value();
    case kCoresMax: return arrival.cores_max.has_value();
    case kDeadline: return arrival.deadline.has_value();
    case kPriority: return arrival.priority.has_value();
    case kFacts: break;
  }
  return false;
}

bool Says(std::string_view cell, int64_t number) {
  int64_t parsed = 0;
  return ParseWholeNumber(cell, &parsed) && parsed == number;
}

// In one of the ways in which formats write times.
bool Says(std::string_view cell, Duration time) {
  Duration parsed{0};
  return (ParseSeconds(cell, &parsed) && parsed == time) ||
         (ParseMilliseconds(cell, &parsed) && parsed == time) ||
         (ParseDateTime(cell, &parsed) && parsed == time);
}

bool Repeats(std::string_view cell, const Arrival& arrival, Fact fact) {
  if (fact == kTenant) return cell == arrival.tenant;
  if (!Has(arrival, fact)) return cell.empty() || cell == "-1";
  switch (fact) {
    case kTime: return Says(cell, arrival.time);
    case kSize: return Says(cell, *arrival.size);
    case kDuration: return Says(cell, *arrival.duration);
    case kCoresMin: return Says(cell, *arrival.cores_min);
    case kCoresPreferred: return Says(cell, *arrival.cores_preferred);
    case kCoresMax: return Says(cell, *arrival.cores_max);
    case kDeadline: return Says(cell, *arrival.deadline);
    case kPriority: return Says(cell, *arrival.priority);
    default: return false;
  }
}

void AddCells(const Arrival& arrival, TraceSurvey* survey) {
  for (size_t column = 0; column < arrival.attributes.size(); ++column) {
    const std::string_view cell = arrival.attributes[column];
    survey->line_breaks += cell.find_first_of("\n\r") != std::string_view::npos;
    std::bitset<kFacts>& repeats = survey->repeats[column];
    for (size_t fact = 0; repeats.any() && fact < kFacts; ++fact) {
      if (repeats[fact]) repeats[fact] = Repeats(cell, arrival, static_cast<Fact>(fact));
    }
  }
}

void Add(const Arrival& arrival, TraceSurvey* survey) {
  if (survey->arrivals() == 0) survey->first = arrival.time;
  Elapsed(survey->first,
          arrival.time);  // Refuses what no writer could tell from its first arrival.
  survey->last = arrival.time;
  for (size_t fact = 0; fact < kFacts; ++fact)
    survey->having[fact] += Has(arrival, static_cast<Fact>(fact));
  for (const std::optional<int>& cores :
       {arrival.cores_min, arrival.cores_preferred, arrival.cores_max}) {
    survey->most_cores = std::max(survey->most_cores, cores.value_or(0));
  }
  survey->split_seconds += IsSplit(arrival.time);
  if (arrival.duration) {
    survey->split_durations += IsSplit(*arrival.duration);
    survey->longest = std::max(survey->longest, *arrival.duration);
  }
  AddCells(arrival, survey);
}

}  // namespace

std::optional<size_t> TraceSurvey::Column(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<size_t>(found - columns.begin());
}

bool TraceSurvey::Repeats(std::string_view column, Fact fact) const {
  const std::optional<size_t> index = Column(column);
  return index && repeats[*index][fact];
}

TraceSurvey Survey(TraceReader* reader, std::string format) {
  TraceSurvey survey;
  survey.format = std::move(format);
  Arrival arrival;
  bool more = reader->Next(&arrival);  // Columns may be known only now.
  survey.columns.assign(reader->Columns().begin(), reader->Columns().end());
  survey.repeats.assign(survey.columns.size(), std::bitset<kFacts>().set());
  for (; more; more = reader->Next(&arrival)) Add(arrival, &survey);
  for (std::bitset<kFacts>& repeats : survey.repeats) {
    for (size_t fact = 0; fact < kFacts; ++fact)
      repeats[fact] = repeats[fact] && survey.having[fact] > 0;
  }
  return survey;
}

}  // namespace cosched
