#include "experiments/config/dispatch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"
#include "experiments/config/experiment_config.h"
#include "experiments/config/parameter_values.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kMaxServicesWindowSeconds = 3600;
constexpr std::array kServerClassNames = {ServerClass::kCpu, ServerClass::kDevice};

void RefuseOtherClasses(const TomlTable& table) { table.AllowOnly({"cpu", "device"}); }

std::string DispatchName(const TomlTable& table, std::string_view key) {
  std::string name = table.String(key);
  if (!FindDispatch(name))
    table.Fail(key,
               fmt::format("there is no dispatch \"{}\"", name) + DidYouMean(name, DispatchNames()),
               DispatchNames());
  return name;
}

// One for all servers, or by class.
ByServerClass<std::optional<std::string>> ReadDispatch(const TomlTable& table) {
  ByServerClass<std::optional<std::string>> names;
  if (!table.Has("dispatch")) return names;
  if (!table.IsTable("dispatch")) {
    names.fill(DispatchName(table, "dispatch"));
    return names;
  }
  const TomlTable by_class = table.Table("dispatch");
  RefuseOtherClasses(by_class);
  for (const ServerClass kind : kServerClassNames) {
    if (by_class.Has(ToString(kind)))
      names[static_cast<size_t>(kind)] = DispatchName(by_class, ToString(kind));
  }
  return names;
}

void ReadInFlight(const SectionKey<ServicesConfig>& key, const TomlTable& table,
                  ServicesConfig* services) {
  if (!table.Has(key.help.name)) return;
  if (!table.IsTable(key.help.name)) {
    services->in_flight.fill(
        static_cast<int>(table.Integer(key.help.name, std::nullopt, 1, kMaxCount)));
    return;
  }
  const TomlTable by_class = table.Table(key.help.name);
  RefuseOtherClasses(by_class);
  for (const ServerClass kind : kServerClassNames) {
    if (by_class.Has(ToString(kind)))
      services->in_flight[static_cast<size_t>(kind)] =
          static_cast<int>(by_class.Integer(ToString(kind), std::nullopt, 1, kMaxCount));
  }
}

// Null where none is given; a number where both are the same.
Json InFlightJson(const ServicesConfig& services) {
  const auto& [cpu, device] = services.in_flight;
  if (cpu == device) return cpu ? Json(*cpu) : Json();
  Json json;
  for (const ServerClass kind : kServerClassNames) {
    if (const auto& count = services.in_flight[static_cast<size_t>(kind)])
      json[std::string(ToString(kind))] = *count;
  }
  return json;
}

Json DispatchNamesJson(const ServicesConfig& services) {
  const auto& [cpu, device] = services.dispatch;
  return cpu == device ? Json(cpu) : Json{{"cpu", cpu}, {"device", device}};
}

// Whether servers of the class ever have a choice.
bool Chooses(const ExperimentConfig& config, ServerClass kind) {
  if (!config.HasServices()) return false;
  if (kind == ServerClass::kDevice) return !config.devices.empty();
  return config.services.polling == Polling::kPublished;
}

// What a dispatch goes by must be known of every service.
void CheckNeeds(const TomlTable& root, const ExperimentConfig& config, const DispatchInfo& dispatch,
                ServerClass kind) {
  const auto fail = [&](const std::string& what, const std::string& name,
                        const std::string& allowed) {
    root.Table("services")
        .Fail("dispatch",
              fmt::format("\"{}\" goes by {}, and \"{}\" has none", dispatch.name, what, name),
              allowed);
  };
  for (const WorkloadConfig& workload : config.workloads) {
    if (!workload.spec.serves) continue;
    if (dispatch.needs_deadline && !workload.slo)
      fail("when a request is to be answered", workload.name, "slo_ms of every service");
    if (dispatch.needs_objective && !workload.objective)
      fail("the mean response that is wanted", workload.name, "sla_ms of every service");
    if (dispatch.needs_expected && kind == ServerClass::kCpu &&
        !(config.profile && config.profile->profile->Find(ProgramName(workload.spec))))
      fail("how long requests take", workload.name, "a machine.profile that holds every service");
  }
}

}  // namespace

const Section<ServicesConfig>& ServicesSection() {
  using Key = SectionKey<ServicesConfig>;
  using S = ServicesConfig;
  static const Section<ServicesConfig> section(
      "[services]", "how requests reach servers, and what policies are told of it",
      {Key::Time("window_s", &S::window, 1, 1e-3, kMaxServicesWindowSeconds,
                 "policies are told after each such time how the services did in it"),
       Key::Read({.name = "in_flight",
                  .type = "integer or table",
                  .fallback = "any number; 2 x max_batch where a service has several servers, "
                              "a device so many a slot",
                  .range = IntegerRange(1, kMaxCount) + ", or { cpu = …, device = … }",
                  .meaning = "requests that a server may have at once; others wait in their "
                             "service's queue"},
                 ReadInFlight, InFlightJson)
           .OmittedWhereAbsent(),
       Key::Read(
           {.name = "dispatch",
            .type = "text or table",
            .fallback = "\"round-robin\"",
            .range = "one of `cosched list dispatches`, or { cpu = …, device = … }",
            .meaning = "which service a server with room takes its next request from"},
           [](const Key&, const TomlTable& table, S* services) {
             const auto given = ReadDispatch(table);
             for (size_t i = 0; i < given.size(); ++i)
               if (given[i]) services->dispatch[i] = *given[i];
           },
           DispatchNamesJson),
       Key::Choice("polling", &S::polling,
                   std::vector{Polling::kWorkConserving, Polling::kPublished},
                   "whether servers take what waits, or are handed it by ROMA's published pollers, "
                   "which lose a millisecond at each empty queue that they look at")});
  return section;
}

DispatchTables ReadDispatchTables(const TomlTable& root, const ExperimentConfig& config) {
  DispatchTables tables;
  const TomlTable dispatches = root.Table("dispatch");
  for (const std::string& name : dispatches.Keys()) {
    const DispatchInfo* info = FindDispatch(name);
    if (!info)
      dispatches.Fail(name, "there is no such dispatch" + DidYouMean(name, DispatchNames()),
                      DispatchNames());
    const TomlTable table = dispatches.Table(name);
    Parameters& parameters = tables.parameters[name];
    for (const std::string& key : table.Keys()) parameters[key] = table.ScalarText(key);
    try {
      MakeDispatch(*info, parameters, Random(config.seed));
    } catch (const InputError& error) {
      const std::string prefix = fmt::format("dispatch.{}.", name);
      table.Fail(error.details().key.substr(prefix.size()), error.details().problem,
                 error.details().allowed);
    }
  }
  for (const std::string& policy : root.Table("policy").Keys())
    tables.of_policy[policy] = ReadDispatch(root.Table("policy").Table(policy));
  for (const std::string& policy : config.policies) {
    for (const ServerClass kind : kServerClassNames) {
      const auto own = tables.of_policy.find(policy);
      const auto at = static_cast<size_t>(kind);
      const std::string& name = own != tables.of_policy.end() && own->second[at]
                                    ? *own->second[at]
                                    : config.services.dispatch[at];
      if (Chooses(config, kind)) CheckNeeds(root, config, *FindDispatch(name), kind);
    }
  }
  return tables;
}

const std::string& DispatchOf(const ExperimentConfig& config, std::string_view policy,
                              ServerClass kind) {
  const auto own = config.dispatch.of_policy.find(policy);
  const auto at = static_cast<size_t>(kind);
  return own != config.dispatch.of_policy.end() && own->second[at] ? *own->second[at]
                                                                   : config.services.dispatch[at];
}

std::unique_ptr<Dispatch> NewDispatch(const ExperimentConfig& config, std::string_view policy,
                                      ServerClass kind, const Random& random) {
  const std::string& name = DispatchOf(config, policy, kind);
  const auto given = config.dispatch.parameters.find(name);
  return MakeDispatch(*FindDispatch(name),
                      given == config.dispatch.parameters.end() ? Parameters() : given->second,
                      random);
}

SectionHelp DispatchHelp() {
  return {.heading = "[dispatch.NAME]",
          .about = "parameters of a dispatch, as `cosched list dispatches` has them",
          .keys = {}};
}

std::vector<KeyValue> DispatchValues(const ExperimentConfig& config, const DispatchInfo& dispatch) {
  const auto given = config.dispatch.parameters.find(dispatch.name);
  return ParameterValues(dispatch.parameters,
                         given == config.dispatch.parameters.end() ? nullptr : &given->second);
}

Json DispatchJson(const ExperimentConfig& config, std::string_view policy) {
  Json json;
  for (const ServerClass kind : kServerClassNames) {
    if (!Chooses(config, kind)) continue;
    const std::string& name = DispatchOf(config, policy, kind);
    Json& entry = json[std::string(ToString(kind))];
    entry["name"] = name;
    for (const KeyValue& value : DispatchValues(config, *FindDispatch(name)))
      entry["parameters"][value.key] = value.value;
  }
  return json;
}

Json DispatchGivenJson(const ExperimentConfig& config) {
  Json json;
  for (const auto& [name, parameters] : config.dispatch.parameters) json[name] = parameters;
  return json;
}

Json DispatchGivenJson(const ExperimentConfig& config, std::string_view policy) {
  Json json;
  const auto given = config.dispatch.of_policy.find(policy);
  if (given == config.dispatch.of_policy.end()) return json;
  for (const ServerClass kind : kServerClassNames) {
    if (const auto& name = given->second[static_cast<size_t>(kind)])
      json[std::string(ToString(kind))] = *name;
  }
  return json;
}

}  // namespace cosched
