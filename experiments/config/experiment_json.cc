#include "experiments/config/experiment_json.h"

#include "experiments/config/experiment_sections.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// Where an external policy comes from.
void AddOrigin(const ExperimentConfig& config, const std::string& policy, Json* json) {
  const auto found = config.external_policies.find(policy);
  if (found == config.external_policies.end()) return;
  const ExternalPolicy& external = *found->second;
  if (!external.uses.empty()) {
    (*json)["use"] = external.uses;
    return;
  }
  if (!external.library.empty()) {
    (*json)["library"] = external.library;
    return;
  }
  (*json)["exec"] = external.command;
  (*json)["directory"] = external.directory.string();
  (*json)["time_limit_s"] = ToSeconds(external.time_limit);
}

Json ProfileJson(const ProfileConfig& profile) {
  return {{"file", profile.file.string()},           {"fnv1a", profile.hash},
          {"source", profile.profile->source},       {"host", profile.profile->host},
          {"version", profile.profile->version},     {"date", profile.profile->date},
          {"measured_cores", profile.profile->cores}};
}

// What the records rest on where devices answered.
Json DeviceProfilesJson(const std::vector<DeviceConfig>& devices) {
  Json json = Json::array();
  for (const DeviceConfig& device : devices) {
    json.push_back({{"device", device.name},
                    {"file", device.file.string()},
                    {"fnv1a", device.hash},
                    {"profile", device.profile->name},
                    {"provenance", device.profile->provenance}});
  }
  return json;
}

}  // namespace

Json ParametersJson(const ExperimentConfig& config) {
  Json parameters = Json::object();
  for (const auto& [policy, values] : config.policy_parameters) {
    parameters[policy] = values;
    AddOrigin(config, policy, &parameters[policy]);
    if (Json dispatch = DispatchGivenJson(config, policy); !dispatch.is_null())
      parameters[policy]["dispatch"] = std::move(dispatch);
  }
  return parameters;
}

Json ExperimentJson(const ExperimentConfig& config) {
  Json json = RootSection().ToJson(config);
  if (config.HasServices()) json["records"]["requests"] = config.records.requests;
  if (config.profile) json["profile"] = ProfileJson(*config.profile);
  if (!config.devices.empty()) json["device_profiles"] = DeviceProfilesJson(config.devices);
  if (config.backend == Backend::kSimulated)
    json["simulation"] = SimulationSection().ToJson(config);
  return json;
}

// Every policy with all its parameters, defaults included.
Json PoliciesJson(const ExperimentConfig& config) {
  Json policies = Json::array();
  for (const std::string& name : config.policies) {
    const PolicyInfo& info = *config.FindPolicy(name);
    Json parameters = Json::object();
    for (const PolicyParameter& parameter : info.parameters) {
      parameters[std::string(parameter.name)] = parameter.default_value;
    }
    if (const auto given = config.policy_parameters.find(name);
        given != config.policy_parameters.end()) {
      for (const auto& [parameter, value] : given->second) parameters[parameter] = value;
    }
    policies.push_back(
        {{"name", name}, {"oversubscribes", info.oversubscribes}, {"parameters", parameters}});
    AddOrigin(config, name, &policies.back());
    if (Json dispatch = DispatchJson(config, name); !dispatch.is_null())
      policies.back()["dispatch"] = std::move(dispatch);
  }
  return policies;
}

}  // namespace cosched
