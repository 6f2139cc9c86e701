#include "experiments/config/trace_json.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// A longer trace is told by its length and hash: a million arrivals are a tenth of a gigabyte, and
// jobs.csv has them all.
constexpr size_t kMostToldArrivals = 10'000;

Json ArrivalJson(const JobArrival& arrival) {
  Json json = {{"arrival_s", ToSeconds(arrival.time)}, {"workload", arrival.workload}};
  const auto add = [&json](const char* key, const std::optional<int>& value) {
    if (value) json[key] = *value;
  };
  add("cores_min", arrival.cores_min);
  add("cores_preferred", arrival.cores_preferred);
  add("cores_max", arrival.cores_max);
  add("priority", arrival.priority);
  add("steps", arrival.steps);
  if (arrival.elasticity) json["elasticity"] = ToString(*arrival.elasticity);
  return json;
}

Json ArrivalJson(const RequestArrival& arrival) {
  Json json = {
      {"arrival_s", ToSeconds(arrival.time)}, {"service", arrival.service}, {"work", arrival.work}};
  if (arrival.slo) json["slo_ms"] = ToSeconds(*arrival.slo) * 1e3;
  return json;
}

void Append(int64_t value, std::string* text) {
  const fmt::format_int digits(value);
  text->append(digits.data(), digits.size());
}

// All that ArrivalJson would say, for a hash.
void Append(const JobArrival& arrival, std::string* text) {
  Append(arrival.time.count(), text);
  *text += ' ';
  *text += arrival.workload;
  for (const auto& value : {arrival.cores_min, arrival.cores_preferred, arrival.cores_max,
                            arrival.priority, arrival.steps}) {
    *text += ' ';
    if (value) Append(*value, text);
  }
  if (arrival.elasticity) *text += ToString(*arrival.elasticity);
}

void Append(const RequestArrival& arrival, std::string* text) {
  fmt::format_to(std::back_inserter(*text), "{} {} {}", arrival.time.count(), arrival.service,
                 arrival.work);
  if (arrival.slo) fmt::format_to(std::back_inserter(*text), " {}", arrival.slo->count());
}

// FNV-1a.
template <typename Trace>
std::string TraceHash(const Trace& trace) {
  uint64_t hash = 14695981039346656037U;
  const auto mix = [&hash](std::string_view bytes) {
    for (const char byte : bytes) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * uint64_t{1099511628211U};
    }
  };
  std::string text;
  for (const auto& arrival : trace) {
    text.clear();
    Append(arrival, &text);
    mix(text += '\n');
  }
  return fmt::format("{:016x}", hash);
}

template <typename Trace>
Json ToldTraces(const std::vector<Trace>& of_trials) {
  Json traces = Json::array();
  for (const Trace& trace : of_trials) {
    if (trace.size() > kMostToldArrivals) {
      traces.push_back({{"arrivals", trace.size()}, {"fnv1a", TraceHash(trace)}});
      continue;
    }
    Json arrivals = Json::array();
    for (const auto& arrival : trace) arrivals.push_back(ArrivalJson(arrival));
    traces.push_back(std::move(arrivals));
  }
  return traces;
}

}  // namespace

Json TracesJson(const std::vector<JobTrace>& of_trials) { return ToldTraces(of_trials); }
Json TracesJson(const std::vector<RequestTrace>& of_trials) { return ToldTraces(of_trials); }

Json TracesJson(const std::vector<std::vector<ClientScript>>& of_trials) {
  Json traces = Json::array();
  for (const std::vector<ClientScript>& clients : of_trials) {
    RequestTrace all;  // One client's behind the other's.
    for (const ClientScript& client : clients)
      all.insert(all.end(), client.requests.begin(), client.requests.end());
    traces.push_back(
        {{"clients", clients.size()}, {"requests", all.size()}, {"fnv1a", TraceHash(all)}});
  }
  return traces;
}

}  // namespace cosched
