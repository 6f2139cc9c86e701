#include "experiments/harness/dispatcher_setup.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/random.h"
#include "experiments/config/dispatch_table.h"
#include "policies/placement.h"

namespace cosched {
namespace {

// Whether somebody else could answer a request of the workload.
bool HasSeveralServers(const ExperimentConfig& config, const WorkloadConfig& workload) {
  return (workload.per_node && config.nodes > 1) ||
         std::any_of(config.devices.begin(), config.devices.end(), [&](const DeviceConfig& one) {
           return std::find(one.services.begin(), one.services.end(), workload.name) !=
                  one.services.end();
         });
}

std::vector<ServiceSetup> ServicesOf(const ExperimentConfig& config) {
  std::vector<ServiceSetup> services;
  for (const WorkloadConfig& workload : config.workloads) {
    if (!workload.spec.serves) continue;
    std::optional<int> in_flight =
        config.services.in_flight[static_cast<size_t>(ServerClass::kCpu)];
    if (!in_flight && HasSeveralServers(config, workload)) in_flight = 2 * workload.spec.batch;
    services.push_back({.name = workload.name,
                        .slo = workload.slo,
                        .objective = workload.objective,
                        .in_flight = in_flight});
  }
  return services;
}

std::vector<DeviceSetup> DevicesOf(const ExperimentConfig& config, const Random& random) {
  std::vector<DeviceSetup> devices;
  if (config.devices.empty()) return devices;
  const std::vector<CpuSet> nodes = DivideCores(*config.topology, config.cores, config.nodes);
  for (const DeviceConfig& device : config.devices) {
    DeviceSetup& setup = devices.emplace_back();
    setup.spec = {.id = {static_cast<int64_t>(devices.size()) - 1},
                  .name = device.name,
                  .profile = device.profile,
                  .cores = nodes.at(static_cast<size_t>(device.node)),
                  .slots = device.slots,
                  .seed = random.Derive(device.name).Next() >> 1,
                  .services = {}};
    int largest_batch = 1;
    for (const WorkloadConfig& workload : config.workloads) {
      if (!workload.spec.serves) continue;
      const bool serves = std::find(device.services.begin(), device.services.end(),
                                    workload.name) != device.services.end();
      setup.spec.services.push_back(serves ? std::optional(workload.spec) : std::nullopt);
      if (serves) largest_batch = std::max(largest_batch, workload.spec.batch);
    }
    setup.in_flight = config.services.in_flight[static_cast<size_t>(ServerClass::kDevice)].value_or(
        2 * device.slots * largest_batch);
  }
  return devices;
}

}  // namespace

DispatcherSetup DispatcherSetupOf(const ExperimentConfig& config, const CellKey& key) {
  const Random random = Random(config.seed).Derive("dispatch").Derive(std::to_string(key.trial));
  DispatcherSetup setup{.services = ServicesOf(config),
                        .devices = DevicesOf(config, random.Derive("devices"))};
  for (const ServerClass kind : {ServerClass::kCpu, ServerClass::kDevice})
    setup.dispatch[static_cast<size_t>(kind)] =
        NewDispatch(config, key.policy, kind, random.Derive(ToString(kind)));
  // Without a service there is nothing to poll.
  if (config.HasServices() && config.services.polling == Polling::kPublished)
    setup.polling = random.Derive("polling");
  return setup;
}

}  // namespace cosched
