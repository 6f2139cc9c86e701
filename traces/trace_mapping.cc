#include "traces/trace_mapping.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "traces/input/numbers.h"

namespace cosched {
namespace {

using Target = MappingRules::Target;
using Choice = MappingRules::Choice;

constexpr size_t kMostShown = 12;  // Names in a message.

[[noreturn]] void Refuse(std::string_view key, const std::string& problem,
                         const std::string& allowed) {
  throw InputError(
      {.file = {}, .line = 0, .key = std::string(key), .problem = problem, .allowed = allowed});
}

template <typename Names>
std::string Some(const Names& names) {
  std::vector<std::string> shown(names.begin(), names.end());
  const bool more = shown.size() > kMostShown;
  if (more) shown.resize(kMostShown);
  return fmt::format("{}{}", fmt::join(shown, ", "), more ? ", …" : "");
}

template <typename Value>
std::string KeysOf(const std::map<std::string, Value, std::less<>>& values) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : values) keys.push_back(key);
  return Some(keys);
}

// [0, 1), from the high bits of FNV-1a with a finisher: names that differ little lie far apart.
double HashShare(std::string_view text) {
  uint64_t hash = 14695981039346656037U;
  for (const char byte : text)
    hash = (hash ^ static_cast<unsigned char>(byte)) * uint64_t{1099511628211U};
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdU;
  return static_cast<double>((hash ^ (hash >> 33)) >> 11) * 0x1p-53;
}

}  // namespace

TraceMapping::TraceMapping(MappingRules rules, std::span<const std::string> columns)
    : rules_(std::move(rules)), draws_(rules_.seed) {
  CHECK(!rules_.targets.empty());
  for (const Target& target : rules_.targets)
    (target.serves ? service_weight_ : job_weight_) += target.weight;
  const bool by_column = rules_.choice == Choice::kByColumn || rules_.choice == Choice::kByName;
  if (by_column) column_ = Find(rules_.column, "workload.column", columns);
  if (rules_.steps) steps_ = Find(rules_.steps->column, "steps.column", columns);
  if (rules_.work) work_ = Find(rules_.work->column, "work.column", columns);
  if (!rules_.elasticity_column.empty())
    elasticity_ = Find(rules_.elasticity_column, "elasticity.column", columns);
}

TraceMapping::Column TraceMapping::Find(const std::string& name, const std::string& key,
                                        std::span<const std::string> columns) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found != columns.end()) return static_cast<Column>(found - columns.begin());
  if (name == "tenant") return static_cast<Column>(Fact::kTenant);
  if (name == "size") return static_cast<Column>(Fact::kSize);
  if (name == "duration") return static_cast<Column>(Fact::kDuration);
  Refuse(key, fmt::format("the trace has no column \"{}\"", name),
         fmt::format("tenant, size, duration, or one of its columns: {}", Some(columns)));
}

TraceMapping::Result TraceMapping::Map(const Arrival& arrival) {
  const Target* target = Choose(arrival);
  if (target == nullptr) return Rejected{};
  if (target->serves) return Request(*target, arrival);
  return Job(*target, arrival);
}

const Target* TraceMapping::Choose(const Arrival& arrival) {
  std::string_view name = rules_.otherwise;
  switch (rules_.choice) {
    case Choice::kByWeight: return Draw(arrival, draws_.Uniform());
    case Choice::kByHash: return Draw(arrival, HashShare(arrival.tenant));
    case Choice::kByName: name = Text(column_, arrival); break;
    case Choice::kByColumn:
      if (const auto found = rules_.values.find(Text(column_, arrival));
          found != rules_.values.end())
        name = found->second;
      break;
    case Choice::kOnly: break;
  }
  if (name.empty() && rules_.choice != Choice::kByName) return nullptr;
  const auto target = std::find_if(rules_.targets.begin(), rules_.targets.end(),
                                   [name](const Target& one) { return one.name == name; });
  if (target != rules_.targets.end()) return &*target;
  std::vector<std::string> names;
  for (const Target& one : rules_.targets) names.push_back(one.name);
  Refuse(rules_.column, fmt::format("there is no workload \"{}\"", name), Some(names));
}

const Target* TraceMapping::Draw(const Arrival& arrival, double share) const {
  const bool wants_service = arrival.kind == Arrival::Kind::kRequest;
  const bool serves = (wants_service && service_weight_ > 0) || job_weight_ <= 0;
  double point = share * (serves ? service_weight_ : job_weight_);
  const Target* last = nullptr;
  for (const Target& target : rules_.targets) {
    if (target.serves != serves || target.weight <= 0) continue;
    last = &target;
    point -= target.weight;
    if (point < 0) break;
  }
  return last;
}

std::string_view TraceMapping::Text(Column column, const Arrival& arrival) const {
  if (column >= 0) return arrival.attributes[static_cast<size_t>(column)];
  return column == static_cast<Column>(Fact::kTenant) ? arrival.tenant : std::string_view();
}

std::optional<double> TraceMapping::Value(const MappingRules::Quantity& quantity, Column column,
                                          const Arrival& arrival) const {
  double value = 0;
  if (column == static_cast<Column>(Fact::kSize)) {
    if (!arrival.size) return std::nullopt;
    value = static_cast<double>(*arrival.size);
  } else if (column == static_cast<Column>(Fact::kDuration)) {
    if (!arrival.duration) return std::nullopt;
    value = ToSeconds(*arrival.duration);
  } else {
    const std::string_view text = Text(column, arrival);
    if (text.empty()) return std::nullopt;
    constexpr int kDecimals = 9;
    int64_t scaled = 0, whole = 0;
    if (ParseScaled(text, kDecimals, &scaled)) {
      value = static_cast<double>(scaled) / 1e9;
    } else if (ParseWholeNumber(text, &whole)) {  // Too large for nine decimals.
      value = static_cast<double>(whole);
    } else {
      Refuse(quantity.column, fmt::format("is \"{}\"", text), "a number");
    }
  }
  if (value < 0) return std::nullopt;  // How several formats say that it is not known.
  return std::clamp(value * quantity.factor, quantity.least, quantity.most);
}

JobArrival TraceMapping::Job(const Target& target, const Arrival& arrival) {
  JobArrival job;
  job.time = arrival.time;
  job.workload = target.name;
  job.priority = arrival.priority;
  if (rules_.steps) {
    if (const std::optional<double> steps = Value(*rules_.steps, steps_, arrival))
      job.steps = static_cast<int>(std::llround(*steps));
  }
  if (rules_.cores) TakeCores(arrival, &job);
  if (rules_.elasticity_column.empty()) return job;
  const std::string_view says = Text(elasticity_, arrival);
  const auto found = rules_.elasticities.find(says);
  if (found == rules_.elasticities.end())
    Refuse(rules_.elasticity_column, fmt::format("is \"{}\"", says), KeysOf(rules_.elasticities));
  job.elasticity = found->second;
  return job;
}

void TraceMapping::TakeCores(const Arrival& arrival, JobArrival* job) {
  bool limited = false;
  const auto limit = [&](const std::optional<int>& cores) -> std::optional<int> {
    limited = limited || (cores && *cores > rules_.most_cores);
    return cores ? std::optional(std::min(*cores, rules_.most_cores)) : std::nullopt;
  };
  job->cores_min = limit(arrival.cores_min);
  job->cores_preferred = limit(arrival.cores_preferred);
  job->cores_max = limit(arrival.cores_max);
  limited_ += limited;
}

RequestArrival TraceMapping::Request(const Target& target, const Arrival& arrival) const {
  RequestArrival request;
  request.time = arrival.time;
  request.service = target.name;
  request.slo = arrival.deadline;
  if (rules_.work) {
    if (const std::optional<double> work = Value(*rules_.work, work_, arrival))
      request.work = *work;
  }
  return request;
}

}  // namespace cosched
