#pragma once
// Finds and kills what a tenant has left behind: processes that it forked may leave its process
// group and session and lose their parent, but they keep the environment that they were born with.
// For tenants without a cgroup of their own. Called by TenantProcess once the tenant
// itself has ended, and by TenantGuard. Costs a look at every process of the machine. Stateless.
//
// A program that wipes its own environment gets away: only a cgroup holds that one.

#include <string>

namespace cosched {

// "COSCHED_TENANT=<owner>-<number>": to be a variable of a tenant's environment. No two are equal.
std::string NewTenantMark();

// Kills every process with that mark, and those they have forked meanwhile. True if nothing of them
// runs any more; false if the kernel has not let it die within 10 s.
bool KillMarked(const std::string& mark);
// As KillMarked, for all marks of an owner (OwnerName()).
bool KillMarkedBy(const std::string& owner);

}  // namespace cosched
