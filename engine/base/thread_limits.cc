#include "engine/base/thread_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>

namespace cosched {
namespace {

namespace fs = std::filesystem;

// "max" is none.
std::optional<int64_t> LimitIn(const fs::path& file) {
  std::ifstream stream(file);
  int64_t limit = 0;
  return stream >> limit ? std::optional(limit) : std::nullopt;
}

// The least of this process's group and of all above it. Version 1 mounts the controller in a folder
// of its own; a container may see only its own group, at the mount's root.
std::optional<int64_t> LeastPidsMax(const fs::path& proc, const fs::path& cgroups) {
  std::optional<int64_t> least;
  std::ifstream groups(proc / "self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "pids") continue;
    const fs::path root = controllers.empty() ? cgroups : cgroups / "pids";
    for (fs::path group = line.substr(second + 1);; group = group.parent_path()) {
      const std::optional<int64_t> limit = LimitIn(root / group.relative_path() / "pids.max");
      if (limit) least = std::min(*limit, least.value_or(*limit));
      if (!group.has_relative_path()) break;
    }
  }
  return least;
}

}  // namespace

std::optional<int64_t> ThreadLimits::Least() const {
  if (user && cgroup) return std::min(*user, *cgroup);
  return user ? user : cgroup;
}

std::string ThreadLimits::ToString() const {
  return "ulimit -u " + (user ? std::to_string(*user) : "unlimited") +
         (cgroup ? ", pids.max " + std::to_string(*cgroup) : "");
}

ThreadLimits LimitsOfThreads(const fs::path& proc, const fs::path& cgroups) {
  ThreadLimits limits;
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  if (limit.rlim_cur != RLIM_INFINITY) limits.user = static_cast<int64_t>(limit.rlim_cur);
  limits.cgroup = LeastPidsMax(proc, cgroups);
  return limits;
}

}  // namespace cosched
