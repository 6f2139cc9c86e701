#pragma once
// Notices that somebody else has changed how much CPU time this process may use: the quota of its
// own cgroup (docker update --cpus, a container platform's resize in place, CPUQuota=) or of a
// group above it. Used by the tenant's control thread, on that thread only.
//
// A write to the file of its own group, or of any above it that this process can see, is heard of at
// once, by inotify; a move to another group within kPeriod.

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "experiments/os/cgroup.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/os/file_watch.h"

namespace cosched {

class CpuLimitWatch {
 public:
  // A look reads the files of all groups above, which takes about 150 us: less than a thousandth of
  // a core (tests/bench/bench_watch.cc).
  static constexpr std::chrono::milliseconds kPeriod{500};

  // REQUIRES: not FollowRule::kKeep.
  explicit CpuLimitWatch(CgroupMounts mounts = CgroupMounts::Here(),
                         FollowRule rule = FollowRule::kCeil);

  int fd() const { return writes_.fd(); }  // Readable after a write to the quota; -1 = none.
  void Drain();                            // Takes what made fd() readable.
  // Looks, if something was drained or kPeriod is over. True if Threads() is another than before.
  // REQUIRES: `now` does not go back.
  bool Look(std::chrono::steady_clock::time_point now);
  // Threads that can use the quota, by the rule; nullopt = there is none.
  std::optional<int> Threads() const { return threads_; }

 private:
  void WatchGroups();

  const CgroupMounts mounts_;
  const FollowRule rule_;
  std::vector<std::filesystem::path> groups_;  // Whose files are watched.
  FileWatch writes_;
  bool drained_ = false;
  std::chrono::steady_clock::time_point next_;  // When a look is due.
  std::optional<int> threads_;
};

}  // namespace cosched
