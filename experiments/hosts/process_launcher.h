#pragma once
// Starts tenants as child processes with an inherited socket, each in a cgroup of its own where the
// actuator needs one. Used by ProcessHost. Not thread-safe.

#include <filesystem>

#include "experiments/hosts/tenant_launcher.h"
#include "experiments/os/actuator.h"

namespace cosched {

class ProcessLauncher final : public TenantLauncher {
 public:
  // cores: of the experiment; where a tenant with a quota may run.
  ProcessLauncher(std::filesystem::path binary, Actuator actuator, CpuSet cores)
      : binary_(std::move(binary)), actuator_(actuator), cores_(std::move(cores)) {}
  std::unique_ptr<LaunchedTenant> Launch(const TenantLaunch& launch) override;

 private:
  const std::filesystem::path binary_;
  const Actuator actuator_;
  const CpuSet cores_;
  // Both outlive the tenants: whoever holds them holds this. The guard is made before any thread.
  TenantGuard guard_;
  Reaper reaper_;
};

}  // namespace cosched
