#include "experiments/config/device_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/base/did_you_mean.h"
#include "experiments/config/file_hash.h"
#include "experiments/config/names.h"

namespace cosched {
namespace {

using DeviceKey = SectionKey<DeviceConfig>;
constexpr int kMaxSlots = 1024;

void ReadDeviceProfile(const DeviceKey& key, const TomlTable& table, DeviceConfig* device) {
  device->file = table.PathOf(key.help.name).lexically_normal();
  device->profile = table.OfFile(key.help.name, [device] {
    return std::make_shared<const DeviceProfile>(LoadDeviceProfile(device->file));
  });
  device->hash = FileHash(device->file);
}

std::vector<std::string> ModelsOf(const DeviceProfile& profile) {
  std::vector<std::string> models;
  for (const auto& [model, figures] : profile.models) models.push_back(model);
  return models;
}

// What a device serves is resident there.
void CheckMemory(const TomlTable& table, const ExperimentConfig& config,
                 const DeviceConfig& device) {
  std::set<std::string> models;
  int64_t resident_mib = 0;
  for (const std::string& service : device.services) {
    const std::string& model = config.FindWorkload(service)->spec.model;
    if (models.insert(model).second) resident_mib += device.profile->Find(model)->memory_mib;
  }
  if (resident_mib <= device.profile->memory_mib) return;
  table.Fail("services",
             fmt::format("their models take {} MiB, and {} has {}", resident_mib,
                         device.profile->name, device.profile->memory_mib),
             "services whose models fit together");
}

std::vector<std::string> ServiceNames(const ExperimentConfig& config) {
  std::vector<std::string> names;
  for (const WorkloadConfig& workload : config.workloads) {
    if (workload.spec.serves) names.push_back(workload.name);
  }
  return names;
}

// Those that the table names, or all whose models the profile has.
std::vector<std::string> ReadServices(const TomlTable& table, const ExperimentConfig& config,
                                      const DeviceProfile& profile) {
  const std::string models = fmt::format("{}", fmt::join(ModelsOf(profile), ", "));
  const std::string known = fmt::format("{}", fmt::join(ServiceNames(config), ", "));
  std::vector<std::string> services;
  if (!table.Has("services")) {
    for (const std::string& name : ServiceNames(config)) {
      if (profile.Find(config.FindWorkload(name)->spec.model)) services.push_back(name);
    }
    if (services.empty())
      table.Fail("profile", fmt::format("{} has the model of no service", profile.name),
                 "a profile of one of the services' models; it has " + models);
    return services;
  }
  services = table.Strings("services");
  for (size_t i = 0; i < services.size(); ++i) {
    const std::string key = fmt::format("services.{}", i);
    const WorkloadConfig* workload = config.FindWorkload(services[i]);
    if (!workload || !workload->spec.serves) {
      table.Fail(
          key,
          fmt::format("there is no service \"{}\"", services[i]) + DidYouMean(services[i], known),
          known.empty() ? "a [[workload]] with mode = \"serve\"" : known);
    }
    if (!profile.Find(workload->spec.model))
      table.Fail(key, fmt::format("{} has no model \"{}\"", profile.name, workload->spec.model),
                 "a service of its models: " + models);
  }
  if (services.empty()) table.Fail("services", "is empty", "one or more of " + known);
  RefuseRepeated(table, "services", services);
  return services;
}

}  // namespace

const Section<DeviceConfig>& DeviceSection() {
  using D = DeviceConfig;
  static const Section<DeviceConfig> section(
      "[[device]]", "a modelled accelerator beside the cores; any number",
      {DeviceKey::Read({.name = "name",
                        .type = "text",
                        .fallback = "required",
                        .range = NameRange(),
                        .meaning = "what records and tables call it"},
                       nullptr, [](const D& device) { return device.name; }),
       DeviceKey::Read({.name = "profile",
                        .type = "text",
                        .fallback = "required",
                        .range = "a file, relative to this one",
                        .meaning = "how long requests hold it (workloads/device_profile.h)"},
                       ReadDeviceProfile, [](const D& device) { return device.file.string(); }),
       DeviceKey::Read({.name = "node",
                        .type = "integer",
                        .fallback = "0, 1, … in turns, in the order of the devices",
                        .range = "0 to machine.nodes - 1",
                        .meaning = "the node whose cores decode requests for it"},
                       nullptr, [](const D& device) { return device.node; }),
       DeviceKey::Integer("slots", &D::slots, 1, kMaxSlots, "batches that it computes at once"),
       DeviceKey::Read({.name = "services",
                        .type = "list",
                        .fallback = "all whose model the profile has",
                        .range = "names of [[workload]] with mode = \"serve\"",
                        .meaning = "whose requests it answers"},
                       nullptr, [](const D& device) { return device.services; })});
  return section;
}

std::vector<DeviceConfig> ReadDevices(const TomlTable& root, const ExperimentConfig& config) {
  std::vector<DeviceConfig> devices;
  std::set<std::string> names;
  for (const TomlTable& table : root.Tables("device")) {
    DeviceConfig& device = devices.emplace_back();
    DeviceSection().Read(table, &device);
    device.name = ReadName(table, {});
    if (!names.insert(device.name).second)
      table.Fail("name", fmt::format("\"{}\" is the name of another device too", device.name),
                 "a name of its own");
    const auto in_turn = static_cast<int>((devices.size() - 1) % static_cast<size_t>(config.nodes));
    device.node = table.Integer("node", in_turn, 0, config.nodes - 1);
    device.services = ReadServices(table, config, *device.profile);
    CheckMemory(table, config, device);
  }
  return devices;
}

}  // namespace cosched
