#include "experiments/wire/device_start.h"

#include <fmt/format.h>

#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace cosched {
namespace {

using DeviceJson = nlohmann::ordered_json;

DeviceJson DeviceModelJson(const DeviceProfile::Model& model) {
  DeviceJson occupancy = DeviceJson::array();
  for (const auto& [batch, quantiles] : model.occupancy_s)
    occupancy.push_back({{"batch", batch}, {"quantiles", quantiles}});
  return {{"occupancy_s", occupancy},
          {"host_cpu_s", model.host_cpu_s},
          {"host_wait_s", model.host_wait_s}};
}

DeviceJson DeviceServiceJson(const std::optional<ProgramSpec>& service) {
  if (!service) return nullptr;
  return {{"model", service->model},
          {"dataset", service->dataset},
          {"data", service->data_directory},
          {"seed", service->seed},
          {"batch", service->batch}};
}

// Why an argument is refused; never leaves this file.
struct UnreadableDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int ReadCount(const DeviceJson& object, const char* key) {
  const auto value = object.at(key).get<int64_t>();
  if (value < 1 || value > std::numeric_limits<int>::max())
    throw UnreadableDevice(fmt::format("\"{}\" is {}", key, value));
  return static_cast<int>(value);
}

double ReadSeconds(const DeviceJson& value) {
  const auto seconds = value.get<double>();
  if (!(seconds >= 0)) throw UnreadableDevice("has a time below 0");
  return seconds;
}

DeviceProfile::Model ReadDeviceModel(const DeviceJson& json) {
  DeviceProfile::Model model;
  for (const DeviceJson& listed : json.at("occupancy_s")) {
    DelayQuantiles& quantiles = model.occupancy_s[ReadCount(listed, "batch")];
    for (const DeviceJson& quantile : listed.at("quantiles"))
      quantiles.push_back(ReadSeconds(quantile));
    if (quantiles.empty()) throw UnreadableDevice("has a batch without a time");
  }
  if (model.occupancy_s.empty()) throw UnreadableDevice("has a model without batches");
  model.host_cpu_s = ReadSeconds(json.at("host_cpu_s"));
  model.host_wait_s = ReadSeconds(json.at("host_wait_s"));
  return model;
}

std::optional<ProgramSpec> ReadDeviceService(const DeviceJson& json, const DeviceProfile& profile) {
  if (json.is_null()) return std::nullopt;
  ProgramSpec service;
  service.model = json.at("model").get<std::string>();
  service.dataset = json.at("dataset").get<std::string>();
  service.data_directory = json.at("data").get<std::string>();
  service.seed = json.at("seed").get<uint64_t>();
  service.batch = ReadCount(json, "batch");
  if (profile.Find(service.model) == nullptr)
    throw UnreadableDevice("has no profile of " + service.model);
  return service;
}

DeviceStart ReadDeviceStart(const DeviceJson& json) {
  DeviceStart start;
  start.device.value = json.at("device").get<int64_t>();
  start.slots = ReadCount(json, "slots");
  start.seed = json.at("seed").get<uint64_t>();
  start.host_threads = ReadCount(json, "host_threads");
  start.profile.name = json.at("name").get<std::string>();
  start.profile.switch_s = ReadSeconds(json.at("switch_s"));
  for (const auto& [name, model] : json.at("models").items())
    start.profile.models[name] = ReadDeviceModel(model);
  for (const DeviceJson& service : json.at("services"))
    start.services.push_back(ReadDeviceService(service, start.profile));
  return start;
}

}  // namespace

DeviceStart StartOf(const DeviceSpec& device, int host_threads) {
  DeviceStart start{.device = device.id,
                    .slots = device.slots,
                    .seed = device.seed,
                    .host_threads = host_threads,
                    .profile = {},
                    .services = {}};
  start.profile.name = device.name;
  start.profile.switch_s = device.profile->switch_s;
  for (const std::optional<TenantSpec>& service : device.services) {
    start.services.emplace_back(service);
    if (!service) continue;
    const DeviceProfile::Model* const model = device.profile->Find(service->model);
    CHECK(model != nullptr) << "device " << device.name << " cannot serve " << service->model;
    start.profile.models[service->model] = *model;
  }
  return start;
}

std::string Encode(const DeviceStart& start) {
  DeviceJson models = DeviceJson::object(), services = DeviceJson::array();
  for (const auto& [name, model] : start.profile.models) models[name] = DeviceModelJson(model);
  for (const std::optional<ProgramSpec>& service : start.services)
    services.push_back(DeviceServiceJson(service));
  const DeviceJson json = {{"device", start.device.value},
                           {"slots", start.slots},
                           {"seed", start.seed},
                           {"host_threads", start.host_threads},
                           {"name", start.profile.name},
                           {"switch_s", start.profile.switch_s},
                           {"models", models},
                           {"services", services}};
  return json.dump();
}

DeviceStart ParseDeviceStart(const std::string& text) {
  try {
    return ReadDeviceStart(DeviceJson::parse(text));
  } catch (const std::exception& error) {  // UnreadableDevice, or nlohmann's.
    throw InputError({.file = "command line",
                      .key = "--device",
                      .problem = error.what(),
                      .allowed = "what a host of the same cosched writes"});
  }
}

}  // namespace cosched
