#pragma once
// Folders that look like cgroup hierarchies with CPU quotas; the kernel's part is played by files.

#include <filesystem>
#include <string>

#include "experiments/os/cgroup.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {

class FakeQuotas {
 public:
  FakeQuotas() { mounts.proc = folder.path() / "proc"; }

  // own: this process's group; root: which group the mount shows.
  void UseVersion2(const std::string& own, const std::string& root = "/") {
    mounts.v2 = CgroupMounts::Mount{root, Root()};
    WriteText(Root() / "cgroup.controllers", "cpuset cpu memory\n");
    WriteText(mounts.proc / "self" / "cgroup", "0::" + own + "\n");
  }
  void UseVersion1(const std::string& own, const std::string& root = "/") {
    mounts.v1["cpu"] = CgroupMounts::Mount{root, Root()};
    WriteText(mounts.proc / "self" / "cgroup", "5:cpu,cpuacct:" + own + "\n0::/other\n");
  }
  std::filesystem::path Root() const { return folder.path() / "fs"; }

  void SetVersion2(const std::string& group, const std::string& max) const {
    WriteText(Root() / group / "cpu.max", max + "\n");
  }
  void SetVersion1(const std::string& group, const std::string& quota) const {
    WriteText(Root() / group / "cpu.cfs_quota_us", quota + "\n");
    WriteText(Root() / group / "cpu.cfs_period_us", "100000\n");
  }

  const TemporaryFolder folder;
  CgroupMounts mounts;
};

}  // namespace cosched
