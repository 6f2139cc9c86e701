#include "experiments/os/cgroup_hierarchy.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "engine/base/unique_fd.h"

namespace cosched {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

namespace {

bool ReadableBy(int fd, Steady::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now()).count();
    pollfd descriptor{fd, POLLIN, 0};
    const int ready = poll(&descriptor, 1, static_cast<int>(std::max<long>(left, 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

bool IsIn(pid_t process, const fs::path& folder) {
  const std::vector<pid_t> members = CgroupMembers(folder);
  return std::find(members.begin(), members.end(), process) != members.end();
}

}  // namespace

fs::path CgroupHierarchy::FolderOf(const std::string& group) const {
  std::string below = group;
  if (mount.root != "/" && below.starts_with(mount.root)) below.erase(0, mount.root.size());
  return below.size() > 1 ? mount.point / below.substr(1) : mount.point;
}

std::string CgroupHierarchy::PathOf(const fs::path& folder) const {
  const std::string below = folder.string().substr(mount.point.string().size());
  const std::string path = (mount.root == "/" ? "" : mount.root) + below;
  return path.empty() ? "/" : path;
}

std::optional<CgroupHierarchy> FindHierarchy(const CgroupMounts& mounts,
                                             const std::string& controller) {
  if (const auto found = mounts.v1.find(controller); found != mounts.v1.end()) {
    return CgroupHierarchy{found->second, false};
  }
  if (!mounts.v2) return std::nullopt;
  std::istringstream controllers(ReadCgroupFile(mounts.v2->point / "cgroup.controllers"));
  for (std::string word; controllers >> word;)
    if (word == controller) return CgroupHierarchy{*mounts.v2, true};
  return std::nullopt;
}

std::optional<CgroupHierarchy> FindUnified(const CgroupMounts& mounts) {
  if (!mounts.v2) return std::nullopt;
  return CgroupHierarchy{*mounts.v2, true};
}

std::string ReadCgroupFile(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  return text.str();
}

void RemoveCgroupFolder(const fs::path& folder) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries && rmdir(folder.c_str()) != 0 && errno == EBUSY; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

std::vector<pid_t> CgroupMembers(const fs::path& folder) {
  std::istringstream lines(ReadCgroupFile(folder / "cgroup.procs"));
  std::vector<pid_t> members;
  for (pid_t process = 0; lines >> process;) members.push_back(process);
  return members;
}

bool KillCgroupMembers(const fs::path& folder, milliseconds limit) {
  const Steady::time_point deadline = Steady::now() + limit;
  while (true) {
    const std::vector<pid_t> members = CgroupMembers(folder);
    if (members.empty()) return true;
    std::vector<UniqueFd> killed;
    for (const pid_t process : members) {
      if (process <= 0) continue;  // To kill(2) these are whole groups of processes.
      UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
      if (!pidfd || !IsIn(process, folder)) continue;
      if (syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) != 0) continue;
      killed.push_back(std::move(pidfd));
    }
    for (const UniqueFd& pidfd : killed) ReadableBy(pidfd.get(), deadline);
    if (Steady::now() >= deadline) return CgroupMembers(folder).empty();
    if (killed.empty()) std::this_thread::sleep_for(milliseconds(1));
    if (killed.empty() && std::count(members.begin(), members.end(), 0) > 0) return false;
  }
}

}  // namespace cosched
