#pragma once
// A tenant of several processes, its ranks, which mpirun starts, a child of this process. Rank 0
// connects to a socket in a folder of the tenant's own, once all ranks are there, and is known by
// SO_PEERCRED as a child of mpirun; it is the process that the tenant is. Where one of them ends
// before the others, mpirun ends all; the folder, with all that mpirun and ranks keep in files, goes
// with the tenant. Made by ProcessLauncher. Not thread-safe.

#include <filesystem>
#include <memory>

#include "experiments/hosts/tenant_launcher.h"

namespace cosched {

// Where such folders are made: in memory, if there is such a place.
std::filesystem::path RanksFolders();

// Makes the folder. Throws std::runtime_error if it can't be started.
std::unique_ptr<LaunchedTenant> LaunchRanks(const std::filesystem::path& binary,
                                            const TenantLaunch& launch,
                                            std::unique_ptr<Cgroup> group,
                                            const GroupSettings& groups,
                                            const std::filesystem::path& folder, TenantGuard* guard,
                                            Reaper* reaper);

}  // namespace cosched
