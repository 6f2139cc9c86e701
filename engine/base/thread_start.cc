#include "engine/base/thread_start.h"

#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace cosched {
namespace {

namespace fs = std::filesystem;

// The limit of this process's group or the nearest one above it that has one; "" if there is none.
// Version 1 mounts the controller in a folder of its own; a container may see only its own group,
// at the mount's root.
std::string PidsMax() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "pids") continue;
    const fs::path root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/pids";
    for (fs::path group = line.substr(second + 1);; group = group.parent_path()) {
      std::ifstream file(root / group.relative_path() / "pids.max");
      std::string limit;
      if (file >> limit && limit != "max") return limit;
      if (!group.has_relative_path()) break;
    }
  }
  return "";
}

}  // namespace

std::string ThreadLimits() {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  const bool none = limit.rlim_cur == RLIM_INFINITY;
  const std::string pids = PidsMax();
  return "ulimit -u " + (none ? "unlimited" : std::to_string(limit.rlim_cur)) +
         (pids.empty() ? "" : ", pids.max " + pids);
}

std::system_error ThreadError(const std::string& what, const std::system_error& error) {
  return std::system_error(error.code(), what + " (" + ThreadLimits() + ")");
}

}  // namespace cosched
