#pragma once
// Starts tenants in OCI containers of their own (podman with runc): a ProcessHost with this
// launcher is the ContainerHost of the design. The tenant connects to a socket that is mounted into
// its container and is known by SO_PEERCRED and its cgroup, never by what it says of itself.
// Starting takes tenths of a second, in a process of its own: nothing here waits for it except
// Kill() during a start. No container outlives this process, however it ends: a TenantGuard kills
// and removes them. Not thread-safe.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/hosts/tenant_launcher.h"
#include "experiments/os/actuator.h"

namespace cosched {

class ContainerLauncher final : public TenantLauncher {
 public:
  struct Options {
    std::filesystem::path binary;
    GroupSettings groups{.cpuset = true};  // REQUIRES: with a cpuset.
    Actuation actuation = Actuation::kDirect;
  };
  // Throws std::runtime_error if its folder can't be made.
  explicit ContainerLauncher(Options options);
  ~ContainerLauncher() override;  // Waits until the runtime has removed what it started.
  std::unique_ptr<LaunchedTenant> Launch(const TenantLaunch& launch) override;

 private:
  const Options options_;
  const std::filesystem::path folder_;  // Private to this launcher.
  std::vector<std::string> names_;      // The containers'.
  // Both outlive the tenants: whoever holds them holds this. The guard is made before any thread.
  TenantGuard guard_;
  Reaper reaper_;
};

}  // namespace cosched
