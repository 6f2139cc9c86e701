#pragma once
// Hears of writes to files that are there, by inotify: of a cgroup's, also on a container's
// read-only mount. Used by the tenant's watches (experiments/tenant/cpuset_watch.h,
// cpu_limit_watch.h). Not thread-safe.

#include <filesystem>
#include <span>

#include "engine/base/unique_fd.h"

namespace cosched {

class FileWatch {
 public:
  FileWatch() = default;  // Of nothing.
  // Of those of the files that can be watched.
  explicit FileWatch(std::span<const std::filesystem::path> files);

  int fd() const { return inotify_.get(); }  // Readable after a write; -1 = nothing is watched.
  bool Drain();  // Takes what made fd() readable. True if there was something.

 private:
  UniqueFd inotify_;
};

}  // namespace cosched
