// What simulated devices do beside tenants: their threads on the host take part in the cores of
// their node as a tenant's do; their slots do not.

#include <algorithm>

#include "experiments/hosts/simulation/simulated_host_impl.h"

namespace cosched {

void SimulatedHost::Impl::AddDevice(const DeviceSpec& spec) {
  CHECK(spec.id.value == static_cast<int64_t>(devices.size()))
      << "device " << spec.name << " is number " << devices.size();
  const auto id = static_cast<Id>(tenants.size());
  Tenant& tenant = tenants.emplace_back();
  tenant.place.cores = spec.cores;
  tenant.device = std::make_unique<DeviceModel>(spec, spec.cores.Count());
  devices.push_back(id);
  agenda.Add(id);
}

void SimulatedHost::Impl::TouchDevice(Id id, const std::function<void(DeviceModel&)>& change) {
  DeviceModel& device = *At(id).device;
  const int was_busy = device.HostBusy();
  change(device);
  agenda.SetNext(id, device.NextEvent());
  ++touches;
  if (device.HostBusy() != was_busy) sharing.Place(id, At(id).place.cores, device.HostBusy());
}

void SimulatedHost::Impl::SetHostSpeed(Id id) {
  TouchDevice(id, [&](DeviceModel& device) {
    if (device.HostBusy() > 0)
      device.SetHostSpeed(std::min(1.0, sharing.Of(id).cores / device.HostBusy()), now);
  });
}

void SimulatedHost::Impl::AdvanceDevice(Id id) {
  TouchDevice(id, [&](DeviceModel& device) {
    device.Advance(now);
    std::ranges::move(device.TakeAnswers(), std::back_inserter(answered));
    std::ranges::move(device.TakeHolds(), std::back_inserter(holds));
  });
}

void SimulatedHost::AddDevice(const DeviceSpec& device) { impl_->AddDevice(device); }

std::vector<HoldSample> SimulatedHost::TakeHolds() { return std::exchange(impl_->holds, {}); }

}  // namespace cosched
