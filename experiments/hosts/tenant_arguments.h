#pragma once
// The command line of a tenant that a host starts (`cosched tenant`, experiments/cli/tenant.cc),
// and the folders that it reads. Pure; called by SupervisedTenant.

#include <string>
#include <vector>

#include "experiments/os/actuator.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/place.h"

namespace cosched {

// Without how to reach the host, which its launcher adds. unbound: its threads are not bound to
// cores.
std::vector<std::string> TenantArguments(const Job& job, const TenantSpec& spec, const Place& place,
                                         Client client, bool unbound);
// What it must be able to read where it has no file system of its own.
std::vector<std::string> FoldersOf(const TenantSpec& spec);

}  // namespace cosched
