#pragma once
// What tenants that are children of this process have in common: they are confined by a cgroup of
// their own, if there is one. Used by process_launcher.cc and ranked_tenant.cc. Not thread-safe.

#include <string>

#include "experiments/hosts/tenant_launcher.h"

namespace cosched {

class TenantInGroup : public LaunchedTenant {
 public:
  bool HasGroup() const final { return group_ != nullptr; }
  void Move(const Place& place) final { times_.fast = MoveGroup(place, groups_, group_); }
  bool Done() final { return true; }
  Times LastTimes() const final { return times_; }
  int MemoryFile() const final { return group_ != nullptr ? group_->MemoryFile() : -1; }
  Cgroup::Counters Counters() const final {
    return group_ != nullptr ? group_->Read() : Cgroup::Counters();
  }

 protected:
  // `group`: of the process that keeps it until it has been reaped; may be null.
  TenantInGroup(Cgroup* group, const GroupSettings& groups) : group_(group), groups_(groups) {}

 private:
  Cgroup* const group_;
  const GroupSettings groups_;
  Times times_{.actuator = std::string(groups_.Name())};
};

}  // namespace cosched
