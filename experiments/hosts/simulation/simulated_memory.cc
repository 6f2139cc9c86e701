// What memory costs on a simulated machine of several NUMA nodes, by the profile: that it is far,
// and that it is moved. As the host of real tenants does it (experiments/hosts/memory_mover.h).

#include "experiments/hosts/simulation/simulated_host_impl.h"

namespace cosched {

// First touch. REQUIRES: it has cores.
void SimulatedHost::Impl::TouchMemory(Id id) {
  Tenant& tenant = At(id);
  if (!memory_costs || tenant.chaos || tenant.pipeline) return;
  tenant.memory = std::make_unique<simulation::TenantMemory>(
      simulation::TenantMemory{.place = MemoryPlace(&numa, tenant.place.cores),
                               .granted = numa.NodesOf(tenant.place.cores)});
}

// Its threads are at its place, and were perhaps elsewhere before.
void SimulatedHost::Impl::FollowWithMemory(Id id) {
  Tenant& tenant = At(id);
  if (!tenant.memory || tenant.place.Pauses()) return;
  simulation::TenantMemory& memory = *tenant.memory;
  const NumaNodes to = numa.NodesOf(tenant.place.cores);
  const NumaNodes left = std::exchange(memory.granted, to) - to;
  if (options.memory == MemoryMode::kStay) {
    if (!left.Empty()) memory_moves.push_back({tenant.job, now, left, to, kMemoryStayed});
    return;
  }
  if (memory.moving) return;  // When that is over, it is seen to.
  const NumaNodes from = memory.place.Nodes() - to;
  if (from.Empty()) return;
  const double bytes = memory.place.ShareOutside(to) * programs.MemoryBytes(tenant.plan.program);
  const Estimate& rate = options.profile->move_bytes_s;
  const Duration taken = rate.samples > 0 ? FromSeconds(bytes / rate.value) : Duration::zero();
  memory.moving = {.job = tenant.job,
                   .time = now + taken,
                   .from = from,
                   .to = to,
                   .outcome = kMemoryMoved,
                   .bytes = std::llround(bytes),
                   .taken = taken};
  memory.moving_to = tenant.place.cores;
  tenant.memory_timer = timers.Arm(id, now + taken);
}

void SimulatedHost::Impl::EndMemoryMove(Id id) {
  Tenant& tenant = At(id);
  tenant.memory_timer = -1;
  simulation::TenantMemory& memory = *tenant.memory;
  memory_moves.push_back(*std::exchange(memory.moving, std::nullopt));
  memory.place.BringTo(memory.moving_to);
  Count(&tenant);
  FollowWithMemory(id);  // It may be elsewhere by now.
  if (tenant.phase == Phase::kComputing) Compute(id);
}

bool SimulatedHost::Impl::IsStoppedByMove(const Tenant& tenant) {
  return tenant.memory && tenant.memory->moving && tenant.place.cores.Count() == 1;
}

double SimulatedHost::Impl::MemoryFactor(const Tenant& tenant) const {
  if (!tenant.memory || tenant.place.Pauses()) return 1;
  const double far = tenant.memory->place.Far(tenant.place.cores);
  const double slow_down = 1 + far * (programs.SlowDownByFarMemory(tenant.plan.program) - 1);
  const double cores = tenant.place.cores.Count();
  return (tenant.memory->moving ? (cores - 1) / cores : 1) / slow_down;
}

}  // namespace cosched
