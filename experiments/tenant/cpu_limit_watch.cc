#include "experiments/tenant/cpu_limit_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

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

CpuLimitWatch::CpuLimitWatch(CgroupMounts mounts) : mounts_(std::move(mounts)) { Look(); }

void CpuLimitWatch::WatchOwnGroup() {
  const std::vector<std::filesystem::path> groups = GroupsAbove("cpu", mounts_);
  const std::filesystem::path group = groups.empty() ? std::filesystem::path() : groups.front();
  if (group == group_) return;
  group_ = group;
  inotify_ = group.empty() ? UniqueFd() : UniqueFd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  bool watched = false;
  for (const char* file : {"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"}) {
    watched |=
        inotify_ && inotify_add_watch(inotify_.get(), (group / file).c_str(), IN_MODIFY) >= 0;
  }
  if (!watched) inotify_ = UniqueFd();
}

void CpuLimitWatch::Drain() {
  char events[1024];
  while (inotify_ && read(inotify_.get(), events, sizeof events) > 0) drained_ = true;
}

bool CpuLimitWatch::Look() {
  if (!std::exchange(drained_, false) && steady_clock::now() < next_) return false;
  next_ = steady_clock::now() + kPeriod;
  WatchOwnGroup();
  const std::optional<int> before = std::exchange(threads_, ThreadsInTime(TightestQuota(mounts_)));
  return threads_ != before;
}

}  // namespace cosched
