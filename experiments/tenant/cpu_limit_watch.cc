#include "experiments/tenant/cpu_limit_watch.h"

#include <utility>

#include "experiments/os/cpu_quota.h"

namespace cosched {
namespace {

using std::chrono::steady_clock;

}  // namespace

CpuLimitWatch::CpuLimitWatch(CgroupMounts mounts) : mounts_(std::move(mounts)) {
  Look(steady_clock::now());
}

void CpuLimitWatch::WatchOwnGroup() {
  const std::vector<std::filesystem::path> groups = GroupsAbove("cpu", mounts_);
  const std::filesystem::path group = groups.empty() ? std::filesystem::path() : groups.front();
  if (group == group_) return;
  group_ = group;
  if (group.empty()) {
    writes_ = FileWatch();
    return;
  }
  const std::filesystem::path files[] = {group / "cpu.max", group / "cpu.cfs_quota_us",
                                         group / "cpu.cfs_period_us"};
  writes_ = FileWatch(files);
}

void CpuLimitWatch::Drain() { drained_ |= writes_.Drain(); }

bool CpuLimitWatch::Look(steady_clock::time_point now) {
  if (!std::exchange(drained_, false) && now < next_) return false;
  next_ = now + kPeriod;
  WatchOwnGroup();
  const std::optional<CpuQuota> quota = TightestQuota(mounts_);
  const std::optional<int> before = std::exchange(threads_, std::nullopt);
  if (quota) threads_ = ThreadsInTime(quota->cores);
  return threads_ != before;
}

}  // namespace cosched
