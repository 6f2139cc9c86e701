#pragma once
// Structs as JSON objects, member by member and the same list for both ways: what processes of one
// version of cosched tell each other. A struct takes part by
//
//   template <member_json::Of<Place> P, typename Visitor>
//   void VisitMembers(P& place, const Visitor& member) {
//     auto& [cores, amount, threads] = place;  // Does not compile once it has another.
//     member("cores", cores);
//     …
//
// in the struct's namespace. Reading is strict: a member that is missing, unknown or of another
// type is refused with its name. Used by tenant_start.h, device_start.h and
// experiments/hosts/host_protocol.h.
// Pure; thread-safe.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/cpu_set.h"
#include "experiments/os/actuator.h"
#include "experiments/wire/memory_mode.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {
namespace member_json {

using Json = nlohmann::ordered_json;

template <typename Given, typename Wanted>
concept Of = std::same_as<std::remove_const_t<Given>, Wanted>;

// Why a text is refused.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename Value>
inline constexpr bool kIsList = false;
template <typename Item>
inline constexpr bool kIsList<std::vector<Item>> = true;
template <typename Value>
inline constexpr bool kIsMap = false;
template <typename Key, typename Value>
inline constexpr bool kIsMap<std::map<Key, Value>> = true;
template <typename Value>
inline constexpr bool kIsOptional = false;
template <typename Item>
inline constexpr bool kIsOptional<std::optional<Item>> = true;
template <typename Value>
inline constexpr bool kIsDuration = false;
template <typename Count, typename Period>
inline constexpr bool kIsDuration<std::chrono::duration<Count, Period>> = true;
template <typename Value>
concept HasText = requires(const Value& value) {
  std::string(ToString(value));
};
template <typename Value>
concept IsId =
    std::same_as<Value, JobId> || std::same_as<Value, ServiceId> || std::same_as<Value, DeviceId>;

inline std::optional<CpuSet> Parse(std::string_view text, const CpuSet*) {
  return CpuSet::Parse(text);
}
inline std::optional<Client> Parse(std::string_view text, const Client*) {
  return ParseClient(text);
}
inline std::optional<Actuator> Parse(std::string_view text, const Actuator*) {
  return ParseActuator(text);
}
inline std::optional<MemoryMode> Parse(std::string_view text, const MemoryMode*) {
  return ParseMemoryMode(text);
}
inline std::optional<KernelRates> Parse(std::string_view text, const KernelRates*) {
  return ParseKernelRates(text);
}
template <typename Value>
std::optional<Value> ByParser(std::string_view text, bool (*parse)(std::string_view, Value*)) {
  Value value{};
  return parse(text, &value) ? std::optional(value) : std::nullopt;
}
inline std::optional<Elasticity> Parse(std::string_view text, const Elasticity*) {
  return ByParser(text, &ParseElasticity);
}
inline std::optional<Mode> Parse(std::string_view text, const Mode*) {
  return ByParser(text, &ParseMode);
}
inline std::optional<CreditLink> Parse(std::string_view text, const CreditLink*) {
  return ByParser(text, &ParseCreditLink);
}
inline std::optional<CommandClient> Parse(std::string_view text, const CommandClient*) {
  return ByParser(text, &ParseCommandClient);
}
inline std::optional<ProgressSource> Parse(std::string_view text, const ProgressSource*) {
  return ParseProgressSource(text);
}
inline std::optional<Precision> Parse(std::string_view text, const Precision*) {
  return ByParser(text, &ParsePrecision);
}

// JSON has no word for what is no number, which a loss may be.
inline Json OfDouble(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}
inline double ToDouble(const Json& json) {
  if (json.is_number()) return json.get<double>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf" || json == "-inf") return json == "inf" ? kInfinity : -kInfinity;
  throw Unreadable("is no number");
}
template <std::integral Value>
Value ToInteger(const Json& json) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const bool whole = json.is_number_integer() &&
                     !(json.is_number_unsigned() && json.get<uint64_t>() > kMost) &&
                     std::in_range<Value>(json.get<int64_t>());
  if (!whole) throw Unreadable("is no integer that fits");
  return static_cast<Value>(json.get<int64_t>());
}

// Keys of maps: text, or whole numbers.
inline std::string KeyText(const std::string& key) { return key; }
inline std::string KeyText(int key) { return std::to_string(key); }
inline void ReadKey(const std::string& text, std::string* key) { *key = text; }
inline void ReadKey(const std::string& text, int* key) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *key);
  if (error != std::errc() || end != text.data() + text.size())
    throw Unreadable("\"" + text + "\" is no whole number");
}

template <typename Value>
Json Written(const Value& value);

template <typename Value>
Json WriteMembers(const Value& value) {
  Json json = Json::object();
  VisitMembers(value,
               [&json](const char* name, const auto& member) { json[name] = Written(member); });
  return json;
}

template <typename Value>
Json Written(const Value& value) {
  if constexpr (std::is_same_v<Value, CpuSet>) {
    return value.ToString();
  } else if constexpr (std::is_floating_point_v<Value>) {
    return OfDouble(value);
  } else if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
    return value;
  } else if constexpr (kIsDuration<Value>) {
    return value.count();
  } else if constexpr (std::is_same_v<Value, TimePoint>) {
    return value.time_since_epoch().count();
  } else if constexpr (std::is_same_v<Value, CpuShare>) {
    return value.milli;
  } else if constexpr (IsId<Value>) {
    return value.value;
  } else if constexpr (kIsOptional<Value>) {
    return value ? Written(*value) : Json();
  } else if constexpr (kIsList<Value>) {
    Json json = Json::array();
    for (const auto& item : value) json.push_back(Written(item));
    return json;
  } else if constexpr (kIsMap<Value>) {
    Json json = Json::object();
    for (const auto& [key, item] : value) json[KeyText(key)] = Written(item);
    return json;
  } else if constexpr (HasText<Value>) {
    return std::string(ToString(value));
  } else {
    return WriteMembers(value);
  }
}

template <typename Value>
void Read(const Json& json, Value* value);

template <typename Value>
void ReadMembers(const Json& json, Value* value) {
  if (!json.is_object()) throw Unreadable("is no JSON object");
  std::vector<std::string_view> known;
  VisitMembers(*value, [&](const char* name, auto& member) {
    const auto found = json.find(name);
    if (found == json.end()) throw Unreadable("has no \"" + std::string(name) + "\"");
    known.emplace_back(name);
    try {
      Read(*found, &member);
    } catch (const std::exception& error) {  // Unreadable, or nlohmann's about a type.
      throw Unreadable("\"" + std::string(name) + "\": " + error.what());
    }
  });
  for (const auto& [name, ignored] : json.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Unreadable("has an unknown \"" + name + "\"");
  }
}

template <typename Item>
void ReadList(const Json& json, std::vector<Item>* items) {
  if (!json.is_array()) throw Unreadable("is no list");
  items->clear();
  items->reserve(json.size());
  for (const Json& item : json) Read(item, &items->emplace_back());
}

template <typename Key, typename Item>
void ReadMap(const Json& json, std::map<Key, Item>* items) {
  if (!json.is_object()) throw Unreadable("is no JSON object");
  items->clear();
  for (const auto& [text, item] : json.items()) {
    Key key;
    ReadKey(text, &key);
    Read(item, &(*items)[key]);
  }
}

template <typename Value>
void Read(const Json& json, Value* value) {
  if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, std::string>) {
    *value = json.get<Value>();
  } else if constexpr (std::is_floating_point_v<Value>) {
    *value = ToDouble(json);
  } else if constexpr (std::is_integral_v<Value>) {
    *value = ToInteger<Value>(json);
  } else if constexpr (kIsDuration<Value>) {
    *value = Value(ToInteger<typename Value::rep>(json));
  } else if constexpr (std::is_same_v<Value, TimePoint>) {
    *value = TimePoint(Duration(ToInteger<int64_t>(json)));
  } else if constexpr (std::is_same_v<Value, CpuShare>) {
    value->milli = ToInteger<int64_t>(json);
  } else if constexpr (IsId<Value>) {
    value->value = ToInteger<int64_t>(json);
  } else if constexpr (kIsOptional<Value>) {
    value->reset();
    if (!json.is_null()) Read(json, &value->emplace());
  } else if constexpr (kIsList<Value>) {
    ReadList(json, value);
  } else if constexpr (kIsMap<Value>) {
    ReadMap(json, value);
  } else if constexpr (HasText<Value> || std::is_same_v<Value, CpuSet>) {
    const auto parsed = Parse(json.get<std::string>(), value);
    if (!parsed) throw Unreadable("is unknown");
    *value = *parsed;
  } else {
    ReadMembers(json, value);
  }
}

}  // namespace member_json

template <member_json::Of<ProgramSpec> Program, typename Visitor>
void VisitMembers(Program& program, const Visitor& member) {
  auto& [model, mode, dataset, data_directory, batch, seed, precision, deterministic, auto_split,
         rates, spin] = program;
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

template <member_json::Of<OpenRequests> Open, typename Visitor>
void VisitMembers(Open& requests, const Visitor& member) {
  auto& [link, open, open_max] = requests;
  member("link", link);
  member("open", open);
  member("open_max", open_max);
}

template <member_json::Of<IncrementSettings> Settings, typename Visitor>
void VisitMembers(Settings& settings, const Visitor& member) {
  auto& [open, stages, items, work, wait, parallel, merge, merges] = settings;
  member("open", open);
  member("stages", stages);
  member("items", items);
  member("work_ns", work);
  member("wait_ns", wait);
  member("parallel", parallel);
  member("merge_ns", merge);
  member("merges", merges);
}

// Who shows its progress is in the tenant's own process; the threads are those of its capacity.
template <member_json::Of<AlignSortSettings> Settings, typename Visitor>
void VisitMembers(Settings& settings, const Visitor& member) {
  auto& [reference, reads, out, chunk_reads, open, threads, compression, memory_mib, spill_folder,
         progress] = settings;
  member("reference", reference);
  member("reads", reads);
  member("out", out);
  member("chunk_reads", chunk_reads);
  member("open", open);
  member("threads", threads);
  member("compression", compression);
  member("memory_mib", memory_mib);
  member("spill_folder", spill_folder);
}

template <member_json::Of<ClassifySettings> Settings, typename Visitor>
void VisitMembers(Settings& settings, const Visitor& member) {
  auto& [model, parts, images, items, batch, seed, weights_file, open, threads, progress] =
      settings;
  member("model", model);
  member("parts", parts);
  member("images", images);
  member("items", items);
  member("batch", batch);
  member("seed", seed);
  member("weights_file", weights_file);
  member("open", open);
  member("threads", threads);
}

template <member_json::Of<PipelineChoice> Choice, typename Visitor>
void VisitMembers(Choice& choice, const Visitor& member) {
  auto& [application, open, ranks, increment, align_sort, classify] = choice;
  member("application", application);
  member("open", open);
  member("ranks", ranks);
  member("increment", increment);
  member("align_sort", align_sort);
  member("classify", classify);
}

template <member_json::Of<CommandChoice> Choice, typename Visitor>
void VisitMembers(Choice& choice, const Visitor& member) {
  auto& [arguments, environment, folder, progress, client, preload, mounts] = choice;
  member("arguments", arguments);
  member("environment", environment);
  member("folder", folder);
  member("progress", progress);
  member("client", client);
  member("preload", preload);
  member("mounts", mounts);
}

template <member_json::Of<TenantSpec> Spec, typename Visitor>
void VisitMembers(Spec& spec, const Visitor& member) {
  member("steps", spec.steps);
  member("serves", spec.serves);
  member("pipeline", spec.pipeline);
  member("command", spec.command);
  member("max_delay_ns", spec.max_delay);
  using Program = std::conditional_t<std::is_const_v<Spec>, const ProgramSpec, ProgramSpec>;
  VisitMembers(static_cast<Program&>(spec), member);
}

}  // namespace cosched
