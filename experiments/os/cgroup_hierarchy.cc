#include "experiments/os/cgroup_hierarchy.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/base/file_bytes.h"
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
  std::istringstream controllers(FileBytes(mounts.v2->point / "cgroup.controllers"));
  for (std::string word; controllers >> word;)
    if (word == controller) return CgroupHierarchy{*mounts.v2, true};
  return std::nullopt;
}

std::optional<CgroupHierarchy> FindUnified(const CgroupMounts& mounts) {
  if (!mounts.v2) return std::nullopt;
  return CgroupHierarchy{*mounts.v2, true};
}

void RemoveCgroupFolder(const fs::path& folder) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries && rmdir(folder.c_str()) != 0 && errno == EBUSY; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// Lines are "<number>:<controllers>:<path>", for v2 "0::<path>".
std::optional<std::string> CgroupPathOf(const std::string& process,
                                        const CgroupHierarchy& hierarchy,
                                        const std::string& controller, const CgroupMounts& mounts) {
  std::istringstream lines(FileBytes(mounts.proc / process / "cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches =
        hierarchy.v2 ? controllers.empty()
                     : ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::string FirstLineOfCgroup(const fs::path& file) {
  const std::string text = FileBytes(file);
  return text.substr(0, text.find('\n'));
}

int WriteToCgroup(int fd, const std::string& text) {
  ssize_t written;
  do {
    written = pwrite(fd, text.data(), text.size(), 0);
  } while (written < 0 && errno == EINTR);
  return written < 0 ? errno : 0;
}

void WriteCgroupFile(const fs::path& file, const std::string& text) {
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  const int error = fd ? WriteToCgroup(fd.get(), text) : errno;
  if (error != 0) {
    throw std::system_error(error, std::generic_category(),
                            (fd ? "writing " + text + " to " : "") + file.string());
  }
}

std::vector<pid_t> CgroupMembers(const fs::path& folder) {
  std::istringstream lines(FileBytes(folder / "cgroup.procs"));
  std::vector<pid_t> members;
  for (pid_t process = 0; lines >> process;) members.push_back(process);
  return members;
}

void RemoveOwnCgroup(const fs::path& folder) {
  RemoveCgroupFolder(folder);
  // Groups of other hosts keep it.
  if (folder.parent_path().filename() == kCgroupParent) rmdir(folder.parent_path().c_str());
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
