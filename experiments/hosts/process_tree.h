#pragma once
// Finds and kills what a tenant has left behind: processes that it forked may leave its process
// group and session and lose their parent, but they keep the environment that they were born with.
// For tenants without a cgroup of their own. Called by TenantProcess once the tenant
// itself has ended, and by TenantGuard. Stateless.
//
// Where this process adopts orphans, what a tenant left is among the children that it has not started,
// so that a tenant's end costs a look at these, however many processes the machine has; else at every
// one.
//
// A program that wipes its own environment gets away: only a cgroup holds that one.

#include <sys/types.h>

#include <string>

#include "engine/base/unique_fd.h"

namespace cosched {

// "COSCHED_TENANT=<owner>-<number>": to be a variable of a tenant's environment. No two are equal.
std::string NewTenantMark();

// From now on whatever loses its parent among the processes below this one becomes its child.
// REQUIRES: what this process has started before and left to itself has lost its parent by now.
void AdoptOrphans();
bool AdoptsOrphans();

// Who starts and reaps this process's children.
class ChildKeeper {
 public:
  virtual ~ChildKeeper() = default;
  // Has started that child and not reaped it yet.
  virtual bool Knows(pid_t child) const = 0;
  // Of one that was adopted, or may have been; it has ended, or will.
  virtual void Reap(UniqueFd orphan) = 0;
};

// Kills every process with that mark, the variable in the environment of a tenant that has ended, and
// those they have forked meanwhile. True if nothing of them runs any more; false if the kernel has
// not let it die within 10 s.
bool KillLeftBehind(pid_t tenant, const std::string& mark, ChildKeeper* keeper);
// All that bear a mark of an owner (OwnerName()). Looks at every process of the machine.
bool KillMarkedBy(const std::string& owner);

}  // namespace cosched
