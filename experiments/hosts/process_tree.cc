#include "experiments/hosts/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/hosts/owner.h"
#include "experiments/hosts/shared_counters.h"
#include "experiments/hosts/unique_fd.h"

namespace cosched {
namespace {

// One that forks all the while is killed faster than it can be born.
constexpr int kMostRounds = 100;
constexpr int kDeathMilliseconds = 1000;

// Those that end between two looks at them are not there; a zombie has no environment.
bool HasMark(pid_t process, const std::string& mark) {
  const std::string path = "/proc/" + std::to_string(process) + "/environ";
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  std::string text(mark.size() + 1, '?');
  const ssize_t length = read(file.get(), text.data(), text.size());
  return length == static_cast<ssize_t>(text.size()) && text.back() == '\0' &&
         text.compare(0, mark.size(), mark) == 0;
}

std::vector<UniqueFd> FindMarked(const std::string& mark) {
  std::vector<UniqueFd> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory.get())) {
    const pid_t process = std::atoi(entry->d_name);
    if (process <= 0 || !HasMark(process, mark)) continue;
    UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    // Looked at again: its number may have been given to another before it was pinned.
    if (pidfd && HasMark(process, mark)) found.push_back(std::move(pidfd));
  }
  return found;
}

}  // namespace

std::string NewTenantMark() {
  return "COSCHED_TENANT=" + OwnerName() + "-" + std::to_string(MonotonicNow().count());
}

void KillMarked(const std::string& mark) {
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<UniqueFd> found = FindMarked(mark);
    if (found.empty()) return;
    for (const UniqueFd& pidfd : found) {
      syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
    }
    for (const UniqueFd& pidfd : found) {
      pollfd gone{pidfd.get(), POLLIN, 0};
      poll(&gone, 1, kDeathMilliseconds);
    }
  }
}

}  // namespace cosched
