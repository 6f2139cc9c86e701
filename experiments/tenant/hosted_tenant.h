#pragma once
// A tenant started by a host: the other end of tenant_protocol.h. The main thread trains or infers,
// or waits while a service answers (hosted_service.h); a control thread follows the host's grants,
// beats and leaves when the host is gone. Called by the `tenant` command with hidden options.

#include <string>

#include "experiments/tenant/host_link.h"
#include "experiments/wire/tenant_start.h"

namespace cosched {

struct HostedTenantOptions : TenantStart, HostAddress {
  std::string control;  // Path of the control socket; "" = the default.
};

// Runs the tenant to its end and returns the process's exit code.
int RunHostedTenant(const HostedTenantOptions& options);

}  // namespace cosched
