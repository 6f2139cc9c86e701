#include "experiments/tenant/cpuset_watch.h"

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

}  // namespace

CpusetWatch::CpusetWatch(const Topology& topology)
    : topology_(topology), mask_(topology.ThreadBinding(0)) {
  WatchOwnGroup();
}

// The group of this process may have become another one, of which only the mask tells.
void CpusetWatch::WatchOwnGroup() {
  std::filesystem::path file = CpusetFile();
  if (file == file_) return;
  file_ = std::move(file);
  writes_ = FileWatch({&file_, file_.empty() ? 0U : 1U});
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
