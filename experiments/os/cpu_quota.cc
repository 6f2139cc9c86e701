#include "experiments/os/cpu_quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace cosched {
namespace {

namespace fs = std::filesystem;

// A group's quota; nullopt = it may use all it gets. Version 2 writes "150000 100000" or
// "max 100000", version 1 a file each, with -1 for no quota.
std::optional<double> QuotaOf(const fs::path& group) {
  std::string quota;
  double period = 0;
  if (std::ifstream file(group / "cpu.max"); file) {
    file >> quota >> period;
  } else {
    std::ifstream(group / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  double time = 0;
  if (!(std::istringstream(quota) >> time) || time <= 0 || period <= 0) return std::nullopt;
  return time / period;
}

std::optional<CpuQuota> Tightest(const std::vector<fs::path>& groups) {
  std::optional<CpuQuota> tightest;
  for (const fs::path& group : groups) {
    const std::optional<double> cores = QuotaOf(group);
    if (cores && (!tightest || *cores < tightest->cores)) tightest = CpuQuota{group, *cores};
  }
  return tightest;
}

// 0.3 of a core, written as 30000 of 100000, must not become a hair more than itself.
constexpr double kRoundingError = 1e-9;

}  // namespace

int ThreadsInTime(double cores) {
  return std::max(1, static_cast<int>(std::min(std::ceil(cores - kRoundingError), 1e6)));
}

std::string_view ToString(FollowRule rule) {
  switch (rule) {
    case FollowRule::kCeil: return "ceil";
    case FollowRule::kFloor: return "floor";
    case FollowRule::kOwn: return "own";
    case FollowRule::kKeep: return "keep";
  }
  return {};
}

int ThreadsInTime(double cores, FollowRule rule) {
  if (rule != FollowRule::kFloor) return ThreadsInTime(cores);
  return std::max(1, static_cast<int>(std::min(std::floor(cores + kRoundingError), 1e6)));
}

std::string Describe(const CpuQuota& quota) {
  return fmt::format("{:.4g} {} (cgroup {})", quota.cores, quota.cores == 1 ? "core" : "cores",
                     quota.group.string());
}

std::optional<CpuQuota> TightestQuota(const CgroupMounts& mounts, const std::string& process) {
  return Tightest(GroupsAbove("cpu", mounts, process));
}

std::optional<int> ThreadsInQuota(FollowRule rule, const CgroupMounts& mounts) {
  if (rule == FollowRule::kKeep) return std::nullopt;
  std::vector<fs::path> groups = GroupsAbove("cpu", mounts, "self");
  if (rule == FollowRule::kOwn && !groups.empty()) groups.resize(1);
  const std::optional<CpuQuota> quota = Tightest(groups);
  return quota ? std::optional(ThreadsInTime(quota->cores, rule)) : std::nullopt;
}

QuotaWatch::QuotaWatch(int cores, const CgroupMounts& mounts)
    : cores_(cores), groups_(GroupsAbove("cpu", mounts)), before_(ReadQuotaStops(groups_)) {}

std::vector<QuotaStops> ReadQuotaStops(const std::vector<fs::path>& groups) {
  std::vector<QuotaStops> all;
  for (const fs::path& group : groups) {
    QuotaStops& stops = all.emplace_back();
    stops.group = group;
    std::ifstream file(group / "cpu.stat");
    std::string key;
    for (int64_t value = 0; file >> key >> value;) {
      if (key == "nr_periods") stops.periods = value;
      if (key == "nr_throttled") stops.times = value;
      if (key == "throttled_usec") stops.time = std::chrono::microseconds(value);
      if (key == "throttled_time") stops.time = std::chrono::nanoseconds(value);
    }
  }
  return all;
}

std::vector<std::string> QuotaWatch::Marks() const {
  std::vector<std::string> marks;
  const std::optional<CpuQuota> tightest = Tightest(groups_);
  if (tightest && tightest->cores < cores_) {
    marks.push_back(fmt::format("the CPU quota is {}, the experiment has {} {}",
                                Describe(*tightest), cores_, cores_ == 1 ? "core" : "cores"));
  }
  const std::vector<QuotaStops> now = ReadQuotaStops(groups_);
  for (size_t i = 0; i < now.size(); ++i) {
    const int64_t times = now[i].times - before_[i].times;
    if (times <= 0) continue;
    marks.push_back(fmt::format(
        "the kernel stopped the processes of cgroup {} {} times, for {:.2f} s in all, because "
        "its CPU quota was used up",
        now[i].group.string(), times, ToSeconds(now[i].time - before_[i].time)));
  }
  return marks;
}

}  // namespace cosched
