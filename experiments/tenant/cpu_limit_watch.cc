#include "experiments/tenant/cpu_limit_watch.h"

#include <utility>

namespace cosched {
namespace {

using std::chrono::steady_clock;

}  // namespace

CpuLimitWatch::CpuLimitWatch(CgroupMounts mounts, FollowRule rule)
    : mounts_(std::move(mounts)), rule_(rule) {
  Look(steady_clock::now());
}

void CpuLimitWatch::WatchGroups() {
  std::vector<std::filesystem::path> groups = GroupsAbove("cpu", mounts_);
  if (groups == groups_) return;
  groups_ = std::move(groups);
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& group : groups_) {
    for (const char* file : {"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"})
      files.push_back(group / file);
  }
  writes_ = files.empty() ? FileWatch() : FileWatch(files);
}

void CpuLimitWatch::Drain() { drained_ |= writes_.Drain(); }

bool CpuLimitWatch::Look(steady_clock::time_point now) {
  if (!std::exchange(drained_, false) && now < next_) return false;
  next_ = now + kPeriod;
  WatchGroups();
  const std::optional<int> before = std::exchange(threads_, ThreadsInQuota(rule_, mounts_));
  return threads_ != before;
}

}  // namespace cosched
