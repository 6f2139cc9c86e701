#pragma once
// A tenant started by a host: the other end of tenant_protocol.h. The main thread trains or infers,
// or waits while a service answers (hosted_service.h); a control thread follows the host's grants,
// beats and leaves when the host is gone. Called by the `tenant` command with hidden options.

#include <sys/types.h>

#include <string>

#include "experiments/wire/tenant_start.h"

namespace cosched {

struct HostedTenantOptions : TenantStart {
  // The control socket and the shared page: inherited, or else (both -1) had by connecting to
  // host_socket.
  int host_fd = -1;
  int counters_fd = -1;
  pid_t host_pid = -1;  // The parent that left them open.
  std::string host_socket;
  std::string control;  // Path of the control socket; "" = the default.
};

// Runs the tenant to its end and returns the process's exit code.
int RunHostedTenant(const HostedTenantOptions& options);

}  // namespace cosched
