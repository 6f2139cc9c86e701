#pragma once
// The socket at which a tenant that inherits none finds its host: one in a container, or one whose
// processes somebody else starts. Called by the launchers. Stateless.

#include <sys/types.h>

#include <filesystem>

#include "engine/base/unique_fd.h"

namespace cosched {

// Does not block. Throws std::system_error if it can't be had. REQUIRES: a path that fits.
UniqueFd ListenForTenant(const std::filesystem::path& path);
// Who has connected, if somebody has: the process is the kernel's word.
struct TenantConnection {
  UniqueFd socket;
  pid_t process = -1;
};
TenantConnection AcceptTenant(int listener);

}  // namespace cosched
