#include "experiments/hosts/tenant_launcher.h"

namespace cosched {

Duration MoveGroup(const Place& place, const GroupSettings& groups, Cgroup* group) {
  const auto start = std::chrono::steady_clock::now();
  // What a tenant with a quota is moved by, and its cores rarely change.
  const bool stays = groups.quota_period && group->Cores() == place.cores;
  if (!stays) group->SetCores(place.cores);
  if (groups.quota_period) group->SetLimit(groups.LimitAt(place));
  return std::chrono::steady_clock::now() - start;
}

}  // namespace cosched
