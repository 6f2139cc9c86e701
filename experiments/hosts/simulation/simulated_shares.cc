// What differs for simulated tenants that have a share of their cores beside others: they spend a
// budget of CPU time, and stand still when it is used up.

#include "experiments/hosts/simulation/simulated_host_impl.h"

namespace cosched {

void SimulatedHost::Impl::Limit(Id id) {
  Tenant& tenant = At(id);
  if (tenant.target.Owns()) {
    // Without a limit nothing is spent; a pause keeps what has been used up.
    const bool was_stalled = tenant.bandwidth && tenant.bandwidth->Stalled();
    if (!tenant.bandwidth || tenant.target.Pauses()) return;
    tenant.bandwidth->SetAmount(tenant.target.amount, now);
    return WatchBandwidth(id, was_stalled);
  }
  if (!tenant.bandwidth) tenant.bandwidth.emplace(options.quota_period);
  const bool was_stalled = tenant.bandwidth->Stalled();
  tenant.bandwidth->SetAmount(tenant.target.amount, now);
  WatchBandwidth(id, was_stalled);
}

void SimulatedHost::Impl::Spend(Id id) {
  Tenant& tenant = At(id);
  if (!tenant.bandwidth) return;
  const bool was_stalled = tenant.bandwidth->Stalled();
  tenant.bandwidth->SetUse(tenant.Shares() ? tenant.busy : 0, now);
  WatchBandwidth(id, was_stalled);
}

void SimulatedHost::Impl::AdvanceBandwidth(Id id) {
  Bandwidth& bandwidth = *At(id).bandwidth;
  const bool was_stalled = bandwidth.Stalled();
  bandwidth.Advance(now);
  WatchBandwidth(id, was_stalled);
}

void SimulatedHost::Impl::WatchBandwidth(Id id, bool was_stalled) {
  Tenant& tenant = At(id);
  if (tenant.bandwidth->Stalled() != was_stalled && tenant.phase == Phase::kComputing) Compute(id);
  tenant.bandwidth_timer = timers.SetAlarm(id, tenant.bandwidth->NextChange());
}

}  // namespace cosched
