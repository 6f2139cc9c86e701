#pragma once
// Limits on the CPU time of this process and of all that it starts: the quota of its cgroup and of
// every group above it (docker --cpus, CPUQuota= of a slice), as far up as this process can see;
// inside a container that is its own. A machine of many cores with a quota of few is no machine of
// many cores: the kernel stops everybody in the group, tens of milliseconds at a time. Used by
// `cosched doctor`, before a run that measures this machine, and by the hosts of its cells. Reads
// files only. Not thread-safe.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/os/cgroup.h"

namespace cosched {

struct CpuQuota {
  std::filesystem::path group;  // The group's folder.
  double cores = 0;             // CPU time per time.
};
// Threads that can use so many cores' time, at least one: a part of a core is worth a thread.
int ThreadsInTime(double cores);
// By what rule a tenant follows a change of its CPU time, or of its cores, that others make.
enum class FollowRule {
  kCeil,   // As many threads as can use the tightest quota's time, as above.
  kFloor,  // As many as have a whole core's time: rounded down, at least one.
  kOwn,    // As kCeil, but of its own cgroup's quota alone.
  kKeep,   // It keeps its threads, also on fewer cores.
};
std::string_view ToString(FollowRule rule);  // "ceil", "floor", "own", "keep"
// REQUIRES: not kKeep.
int ThreadsInTime(double cores, FollowRule rule);
std::string Describe(const CpuQuota& quota);  // "1.5 cores (cgroup /sys/fs/cgroup/cpu/docker/7)"

// The smallest that holds for a process now ("self": this one, else its id); nullopt = none.
std::optional<CpuQuota> TightestQuota(const CgroupMounts& mounts = CgroupMounts::Here(),
                                      const std::string& process = "self");
// Threads for which this process has time now, by the rule; nullopt = for any number, or the rule is to
// keep them.
std::optional<int> ThreadsInQuota(FollowRule rule,
                                  const CgroupMounts& mounts = CgroupMounts::Here());

// In how many of its periods the kernel has stopped a group because its quota was used up, and for
// how long in all. Cumulative.
struct QuotaStops {
  std::filesystem::path group;
  int64_t periods = 0, times = 0;
  Duration time{0};
};
// Of each of these groups, in their order.
std::vector<QuotaStops> ReadQuotaStops(const std::vector<std::filesystem::path>& groups);

// What a reader of results must know of quotas.
class QuotaWatch {
 public:
  // Watches from now on, for an experiment on so many cores.
  explicit QuotaWatch(int cores, const CgroupMounts& mounts = CgroupMounts::Here());
  // Empty where no quota is below the cores and none has stopped anybody since.
  std::vector<std::string> Marks() const;

 private:
  const int cores_;
  const std::vector<std::filesystem::path> groups_;
  const std::vector<QuotaStops> before_;
};

}  // namespace cosched
