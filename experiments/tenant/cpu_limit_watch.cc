#include "experiments/tenant/cpu_limit_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/os/cpu_quota.h"

namespace cosched {
namespace {

using std::chrono::steady_clock;

std::optional<int> ThreadsInTime(const std::optional<CpuQuota>& quota) {
  if (!quota) return std::nullopt;
  // 0.3 of a core, written as 30000 of 100000, must not become a hair more than itself.
  constexpr double kRoundingError = 1e-9;
  return std::max(1, static_cast<int>(std::min(std::ceil(quota->cores - kRoundingError), 1e6)));
}

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
  const std::optional<int> before = std::exchange(threads_, ThreadsInTime(TightestQuota(mounts_)));
  return threads_ != before;
}

}  // namespace cosched
