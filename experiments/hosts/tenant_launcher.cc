#include "experiments/hosts/tenant_launcher.h"

#include "experiments/os/process_sampler.h"

namespace cosched {

Confinement ConfineAll(const LaunchedTenant& tenant, const CpuSet& cores,
                       const Topology& topology) {
  Confinement worst = ConfineThreads(tenant.pid(), cores, topology);
  for (const pid_t other : tenant.Others()) {
    if (worst == Confinement::kRefused) break;  // errno is kept.
    const Confinement result = ConfineThreads(other, cores, topology);
    if (result != Confinement::kDone && result != Confinement::kGone) worst = result;
  }
  return worst;
}

std::optional<Duration> CpuTimeOfAll(const LaunchedTenant& tenant) {
  std::optional<Duration> used = CpuTimeOf(tenant.pid());
  for (const pid_t other : tenant.Others()) {
    const std::optional<Duration> more = CpuTimeOf(other);
    if (used && more) *used += *more;
  }
  return used;
}

Duration MoveGroup(const Place& place, const GroupSettings& groups, Cgroup* group) {
  const auto start = std::chrono::steady_clock::now();
  // What a tenant with a quota is moved by, and its cores rarely change.
  const bool stays = groups.quota_period && group->Cores() == place.cores;
  if (!stays) group->SetCores(place.cores);
  if (groups.quota_period) group->SetLimit(groups.LimitAt(place));
  return std::chrono::steady_clock::now() - start;
}

}  // namespace cosched
