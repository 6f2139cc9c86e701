#include "experiments/wire/device_start.h"

#include <algorithm>
#include <exception>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "experiments/wire/member_json.h"

namespace cosched {

template <member_json::Of<DeviceProfile::Model> Model, typename Visitor>
void VisitMembers(Model& model, const Visitor& member) {
  auto& [occupancy_s, host_cpu_s, host_wait_s, memory_mib] = model;
  member("occupancy_s", occupancy_s);
  member("host_cpu_s", host_cpu_s);
  member("host_wait_s", host_wait_s);
  member("memory_mib", memory_mib);
}

template <member_json::Of<DeviceProfile> Profile, typename Visitor>
void VisitMembers(Profile& profile, const Visitor& member) {
  auto& [name, provenance, models, switch_s, memory_mib] = profile;
  member("name", name);
  member("provenance", provenance);
  member("models", models);
  member("switch_s", switch_s);
  member("memory_mib", memory_mib);
}

template <member_json::Of<DeviceStart> Start, typename Visitor>
void VisitMembers(Start& start, const Visitor& member) {
  auto& [device, slots, seed, host_threads, profile, services] = start;
  member("device", device);
  member("slots", slots);
  member("seed", seed);
  member("host_threads", host_threads);
  member("profile", profile);
  member("services", services);
}

namespace {

using member_json::Unreadable;

void CheckDeviceModel(const DeviceProfile::Model& model) {
  const bool has_times = std::ranges::all_of(model.occupancy_s, [](const auto& listed) {
    return listed.first >= 1 && !listed.second.empty() &&
           std::ranges::all_of(listed.second, [](double time) { return time >= 0; });
  });
  if (model.occupancy_s.empty() || !has_times || !(model.host_cpu_s >= 0) ||
      !(model.host_wait_s >= 0))
    throw Unreadable("has a model without sound times");
}

void CheckDeviceStart(const DeviceStart& start) {
  if (start.slots < 1 || start.host_threads < 1 || !(start.profile.switch_s >= 0))
    throw Unreadable("has no slot, no thread, or a time below 0");
  for (const auto& [name, model] : start.profile.models) CheckDeviceModel(model);
  for (const std::optional<ProgramSpec>& service : start.services) {
    if (service && (service->batch < 1 || start.profile.Find(service->model) == nullptr))
      throw Unreadable("has a service without a batch, or a profile");
  }
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

std::string Encode(const DeviceStart& start) { return member_json::WriteMembers(start).dump(); }

DeviceStart ParseDeviceStart(const std::string& text) {
  try {
    DeviceStart start;
    member_json::ReadMembers(member_json::Json::parse(text), &start);
    CheckDeviceStart(start);
    return start;
  } catch (const std::exception& error) {  // Unreadable, or nlohmann's.
    throw InputError({.file = "command line",
                      .key = "--device",
                      .problem = error.what(),
                      .allowed = "what a host of the same cosched writes"});
  }
}

}  // namespace cosched
