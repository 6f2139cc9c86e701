#pragma once
// How an experiment's requests find servers: [services], [dispatch.<name>] and the key dispatch of
// [policy.<name>]. Called by LoadConfig, --dry-run and the manifest.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/random.h"
#include "experiments/config/section.h"
#include "experiments/config/section_help.h"
#include "experiments/config/toml_table.h"
#include "policies/dispatch/dispatches.h"
#include "policies/dispatch/server_class.h"

namespace cosched {

struct ExperimentConfig;

template <typename Value>
using ByServerClass = std::array<Value, kServerClasses>;

enum class Polling {
  kWorkConserving,  // A server with room takes what waits, at once.
  kPublished,       // experiments/harness/pollers.h
};
constexpr std::string_view ToString(Polling polling) {
  return polling == Polling::kPublished ? "published" : "work-conserving";
}

// [services]: of all of them.
struct ServicesConfig {
  Duration window = std::chrono::seconds(1);  // window_s: what policies are told of.
  // Requests that a server may have at once. Default: an instance any number if its service has no
  // other server, else two batches; a device two batches a slot.
  ByServerClass<std::optional<int>> in_flight = {};
  // The Dispatch of a class of servers, for policies that name no other.
  ByServerClass<std::string> dispatch = {"round-robin", "round-robin"};
  Polling polling = Polling::kWorkConserving;
};
const Section<ServicesConfig>& ServicesSection();

// What the rest of an experiment file says of dispatches.
struct DispatchTables {
  std::map<std::string, Parameters, std::less<>> parameters;  // [dispatch.<name>]
  // [policy.<name>] dispatch
  std::map<std::string, ByServerClass<std::optional<std::string>>, std::less<>> of_policy;
};

// Throws InputError about the first key that is wrong, or does not go with the services. REQUIRES:
// [services], workloads, devices and policies have been read.
DispatchTables ReadDispatchTables(const TomlTable& root, const ExperimentConfig& config);

// Name of the one that a policy's runs have.
const std::string& DispatchOf(const ExperimentConfig& config, std::string_view policy,
                              ServerClass kind);
std::unique_ptr<Dispatch> NewDispatch(const ExperimentConfig& config, std::string_view policy,
                                      ServerClass kind, const Random& random);

// Keys of a [dispatch.<name>] are the dispatch's parameters (`cosched list dispatches`).
SectionHelp DispatchHelp();
// Those of a dispatch, defaults included.
std::vector<KeyValue> DispatchValues(const ExperimentConfig& config, const DispatchInfo& dispatch);
// What the runs of a policy have, by class of servers with a choice, with all parameters; null where
// there is no such class.
nlohmann::ordered_json DispatchJson(const ExperimentConfig& config, std::string_view policy);
// As the file gave it: parameters by dispatch, and dispatches of a policy by class; null = none.
nlohmann::ordered_json DispatchGivenJson(const ExperimentConfig& config);
nlohmann::ordered_json DispatchGivenJson(const ExperimentConfig& config, std::string_view policy);

}  // namespace cosched
