#pragma once
// How many threads this process may have beside all others that are counted with it. Used by
// errors about threads that can't be started (thread_start.h) and by `cosched doctor`. Reads files
// only; any thread.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace cosched {

struct ThreadLimits {
  std::optional<int64_t> user;    // RLIMIT_NPROC, ulimit -u: of all processes of this user.
  std::optional<int64_t> cgroup;  // pids.max of this process's group, or of one above it.

  std::optional<int64_t> Least() const;
  std::string ToString() const;  // "ulimit -u 4096, pids.max 2048"
};

// `proc` and `cgroups`: where these are mounted.
ThreadLimits LimitsOfThreads(const std::filesystem::path& proc = "/proc",
                             const std::filesystem::path& cgroups = "/sys/fs/cgroup");

}  // namespace cosched
