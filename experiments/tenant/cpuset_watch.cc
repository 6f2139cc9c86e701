#include "experiments/tenant/cpuset_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "experiments/os/cgroup.h"

namespace cosched {
namespace {

// The file of this process's own group; "" where there is none to see.
std::filesystem::path CpusetFile() {
  const CgroupMounts mounts = CgroupMounts::Here();
  const auto v1 = mounts.v1.find("cpuset");
  if (v1 == mounts.v1.end() && !mounts.v2) return {};
  const CgroupMounts::Mount& mount = v1 != mounts.v1.end() ? v1->second : *mounts.v2;
  std::string group = CpusetPathOf(getpid(), mounts);
  if (mount.root != "/" && group.starts_with(mount.root)) group.erase(0, mount.root.size());
  while (group.starts_with("/")) group.erase(0, 1);
  return mount.point / group / "cpuset.cpus";
}

UniqueFd WatchFile(const std::filesystem::path& file) {
  UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (file.empty() || !inotify) return {};
  if (inotify_add_watch(inotify.get(), file.c_str(), IN_MODIFY) < 0) return {};
  return inotify;
}

}  // namespace

CpusetWatch::CpusetWatch(const Topology& topology)
    : topology_(topology), mask_(topology.ThreadBinding(0)) {
  WatchOwnGroup();
}

// The group of this process may have become another one, of which only the mask tells.
void CpusetWatch::WatchOwnGroup() {
  std::filesystem::path file = CpusetFile();
  if (file == file_) return;
  inotify_ = WatchFile(file);
  file_ = std::move(file);
}

void CpusetWatch::Drain() {
  char events[1024];
  while (inotify_ && read(inotify_.get(), events, sizeof events) > 0) {
  }
}

bool CpusetWatch::Look() {
  CpuSet mask = topology_.ThreadBinding(0);
  if (mask.Empty() || mask == mask_) return false;
  mask_ = std::move(mask);
  WatchOwnGroup();
  return true;
}

void CpusetWatch::MoveWitness(const CpuSet& cores) {
  topology_.BindThread(0, cores);
  Look();
}

}  // namespace cosched
