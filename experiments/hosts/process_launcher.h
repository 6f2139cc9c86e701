#pragma once
// Starts tenants as child processes with an inherited socket, or as ranks (ranked_tenant.h), each in
// a cgroup of its own where its host wants one. Used by ProcessHost. Not thread-safe.

#include <filesystem>

#include "experiments/hosts/tenant_launcher.h"

namespace cosched {

class ProcessLauncher final : public TenantLauncher {
 public:
  ProcessLauncher(std::filesystem::path binary, GroupSettings groups);
  std::unique_ptr<LaunchedTenant> Launch(const TenantLaunch& launch) override;

 private:
  const std::filesystem::path binary_;
  const GroupSettings groups_;
  const std::filesystem::path ranks_folder_;  // Private to this launcher; there while ranks are.
  // Both outlive the tenants: whoever holds them holds this. The guard is made before any thread.
  TenantGuard guard_;
  Reaper reaper_;
};

}  // namespace cosched
