#include "experiments/hosts/process_tree.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/unique_fd.h"
#include "experiments/os/owner.h"
#include "experiments/wire/shared_counters.h"

namespace cosched {
namespace {

constexpr const char* kVariable = "COSCHED_TENANT=";
// A tree that forks all the while is killed faster than it can grow.
constexpr std::chrono::seconds kTreeDeathTimeout{10};

// The mark of a tenant of an owner begins like this, and is the whole mark of one tenant if that
// ends with its zero.
std::string MarkOf(const std::string& owner) { return std::string(kVariable) + owner + "-"; }

// Among its variables. Processes that end between two looks at them are not there; a zombie has no
// environment.
bool HasMark(pid_t process, const std::string& beginning) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return text.starts_with(beginning) || text.find('\0' + beginning) != std::string::npos;
}

std::vector<UniqueFd> FindMarked(const std::string& beginning) {
  std::vector<UniqueFd> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory.get())) {
    const pid_t process = std::atoi(entry->d_name);
    if (process <= 0 || !HasMark(process, beginning)) continue;
    UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    // Looked at again: its number may have been given to another before it was pinned.
    if (pidfd && HasMark(process, beginning)) found.push_back(std::move(pidfd));
  }
  return found;
}

bool KillAllMarked(const std::string& beginning) {
  const auto deadline = MonotonicNow() + kTreeDeathTimeout;
  while (true) {
    const std::vector<UniqueFd> found = FindMarked(beginning);
    if (found.empty()) return true;
    if (MonotonicNow() >= deadline) return false;
    for (const UniqueFd& pidfd : found) {
      syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
    }
    for (const UniqueFd& pidfd : found) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - MonotonicNow());
      pollfd gone{pidfd.get(), POLLIN, 0};
      poll(&gone, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    }
  }
}

}  // namespace

std::string NewTenantMark() { return MarkOf(OwnerName()) + std::to_string(MonotonicNow().count()); }

bool KillMarked(const std::string& mark) { return KillAllMarked(mark + std::string(1, '\0')); }

bool KillMarkedBy(const std::string& owner) { return KillAllMarked(MarkOf(owner)); }

}  // namespace cosched
