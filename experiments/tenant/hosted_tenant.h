#pragma once
// A tenant started by a host: the other end of tenant_protocol.h. The main thread trains or infers,
// or waits while a service answers (hosted_service.h); a control thread follows the host's grants,
// beats and leaves when the host is gone. Called by the `tenant` command with hidden options.

#include <sys/types.h>

#include <string>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "experiments/os/actuator.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/job.h"

namespace cosched {

struct HostedTenantOptions {
  // The control socket and the shared page: inherited, or else (both -1) had by connecting to
  // host_socket.
  int host_fd = -1;
  int counters_fd = -1;
  pid_t host_pid = -1;  // The parent that left them open.
  std::string host_socket;
  JobId job;
  Elasticity elasticity = Elasticity::kMalleable;
  bool unbound = false;  // The threads run anywhere on their cores: a CPU quota limits them.
  int capacity =
      1;  // Malleable: the most threads it will ever have, for which its work is divided.
  Client client = Client::kOn;
  std::string control;  // Path of the control socket; "" = the default.
  CpuSet cores;         // The first grant. The process already runs there.
  Split threads;
  TenantSpec spec;
};

// Runs the tenant to its end and returns the process's exit code.
int RunHostedTenant(const HostedTenantOptions& options);

}  // namespace cosched
