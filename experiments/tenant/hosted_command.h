#pragma once
// A hosted tenant that runs a program of somebody else's: says hello and how far it is for it, tells
// its client of grants, and ends as it ends. Its host confines and stops the program, and is given no
// answers to wait for. Called by RunHostedTenant, on the main thread.

#include "engine/base/topology.h"
#include "experiments/tenant/hosted_tenant.h"

namespace cosched {

// Returns the process's exit code.
int RunHostedCommand(const HostedTenantOptions& options, const Topology& topology);

}  // namespace cosched
