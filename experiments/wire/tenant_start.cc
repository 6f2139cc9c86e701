#include "experiments/wire/tenant_start.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// Every member by its name, for both ways. The structured binding does not compile once a program
// has a member that is not listed.
template <typename Start, typename Visitor>
void VisitMembers(Start& start, const Visitor& member) {
  member("job", start.job.value);
  member("elasticity", start.elasticity);
  member("capacity", start.capacity);
  member("cores", start.cores);
  member("inter", start.threads.inter);
  member("threads", start.threads.intra);
  member("client", start.client);
  member("unbound", start.unbound);
  member("steps", start.spec.steps);
  member("serves", start.spec.serves);
  member("max_delay_ns", start.spec.max_delay);
  using Program = std::conditional_t<std::is_const_v<Start>, const ProgramSpec, ProgramSpec>;
  auto& [model, mode, dataset, data_directory, batch, seed, precision, deterministic, auto_split,
         rates, spin] = static_cast<Program&>(start.spec);
  member("model", model);
  member("mode", mode);
  member("dataset", dataset);
  member("data", data_directory);
  member("batch", batch);
  member("seed", seed);
  member("precision", precision);
  member("deterministic", deterministic);
  member("auto_split", auto_split);
  member("kernel_rates", rates);
  member("spin_ns", spin);
}

Json ToJson(const CpuSet& cores) { return cores.ToString(); }
Json ToJson(std::chrono::nanoseconds time) { return time.count(); }
template <typename Value>
Json ToJson(const Value& value) {
  if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
    return value;
  } else {
    return std::string(ToString(value));
  }
}

std::optional<CpuSet> Parse(std::string_view text, const CpuSet*) { return CpuSet::Parse(text); }
std::optional<Client> Parse(std::string_view text, const Client*) { return ParseClient(text); }
std::optional<KernelRates> Parse(std::string_view text, const KernelRates*) {
  return ParseKernelRates(text);
}
template <typename Value>
std::optional<Value> ByParser(std::string_view text, bool (*parse)(std::string_view, Value*)) {
  Value value{};
  return parse(text, &value) ? std::optional(value) : std::nullopt;
}
std::optional<Elasticity> Parse(std::string_view text, const Elasticity*) {
  return ByParser(text, &ParseElasticity);
}
std::optional<Mode> Parse(std::string_view text, const Mode*) { return ByParser(text, &ParseMode); }
std::optional<Precision> Parse(std::string_view text, const Precision*) {
  return ByParser(text, &ParsePrecision);
}

// Why an argument is refused; never leaves this file.
struct UnreadableMember : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void Read(const Json& json, bool* value) { *value = json.get<bool>(); }
void Read(const Json& json, std::string* value) { *value = json.get<std::string>(); }
void Read(const Json& json, std::chrono::nanoseconds* value) {
  *value = std::chrono::nanoseconds(json.get<int64_t>());
}
template <typename Value>
void Read(const Json& json, Value* value) {
  if constexpr (std::is_integral_v<Value>) {
    if (!json.is_number_integer() || !std::in_range<Value>(json.get<int64_t>()))
      throw UnreadableMember("is no integer that fits");
    *value = static_cast<Value>(json.get<int64_t>());
  } else {
    const std::optional<Value> parsed = Parse(json.get<std::string>(), value);
    if (!parsed) throw UnreadableMember("is unknown");
    *value = *parsed;
  }
}

}  // namespace

std::string Encode(const TenantStart& start) {
  Json json;
  VisitMembers(start, [&json](const char* name, const auto& value) { json[name] = ToJson(value); });
  return json.dump();
}

TenantStart ParseTenantStart(const std::string& text) {
  const auto refuse = [](const std::string& problem) {
    throw InputError({.file = "command line",
                      .key = "--start",
                      .problem = problem,
                      .allowed = "what a host of the same cosched writes"});
  };
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) refuse("is no JSON object");
  TenantStart start;
  VisitMembers(start, [&](const char* name, auto& value) {
    const auto found = json.find(name);
    if (found == json.end()) refuse(fmt::format("has no \"{}\"", name));
    try {
      Read(*found, &value);
    } catch (const std::exception& error) {  // UnreadableMember, or nlohmann's about a type.
      refuse(fmt::format("\"{}\": {}", name, error.what()));
    }
    json.erase(found);
  });
  if (!json.empty()) refuse(fmt::format("has an unknown \"{}\"", json.begin().key()));
  if (start.cores.Empty() || start.capacity < 1 || start.threads.inter < 1 ||
      start.threads.intra < 1)
    refuse("has no core, or no thread");
  return start;
}

}  // namespace cosched
