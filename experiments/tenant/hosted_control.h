#pragma once
// What a hosted tenant's control thread is told of its start, whatever the tenant runs. Pure; called
// by hosted_tenant.cc and hosted_command.cc.

#include "experiments/tenant/control_thread.h"
#include "experiments/tenant/hosted_tenant.h"

namespace cosched {

ControlThreadOptions HostedControlOptions(const HostedTenantOptions& options);

}  // namespace cosched
