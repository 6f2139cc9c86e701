#include "experiments/os/process_children.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "experiments/os/process_sampler.h"
#include "experiments/os/process_stat.h"

namespace cosched {
namespace {

std::string ListOf(pid_t process, pid_t thread) {
  return "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/children";
}

std::vector<pid_t> SearchChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  while (const dirent* entry = directory == nullptr ? nullptr : readdir(directory.get())) {
    const pid_t process = std::atoi(entry->d_name);
    if (process <= 0) continue;
    const std::optional<ProcessStat> stat = ProcessStat::Of(process);
    if (stat && stat->Number(ProcessStat::kParent) == parent) children.push_back(process);
  }
  return children;
}

// Each thread of a process has those that it has forked, one those that were adopted.
std::vector<pid_t> ListedChildrenOf(pid_t process) {
  std::vector<pid_t> children;
  for (const pid_t thread : ThreadsOf(process)) {
    std::ifstream file(ListOf(process, thread));
    children.insert(children.end(), std::istream_iterator<pid_t>(file), {});
  }
  return children;
}

}  // namespace

bool KernelListsChildren() { return access(ListOf(getpid(), getpid()).c_str(), R_OK) == 0; }

// A list may miss some while others of it come and go (proc(5)): two that are equal are complete.
std::vector<pid_t> ChildrenOf(pid_t process) {
  constexpr int kMost = 100;
  const auto list = KernelListsChildren() ? ListedChildrenOf : SearchChildrenOf;
  std::vector<pid_t> before, children;
  for (int i = 0; i < kMost && (i == 0 || children != before); ++i) {
    before = std::exchange(children, list(process));
    std::sort(children.begin(), children.end());
  }
  return children;
}

std::vector<pid_t> DescendantsOf(pid_t process) {
  std::vector<pid_t> found = ChildrenOf(process);
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<pid_t> children = ChildrenOf(found[i]);
    found.insert(found.end(), children.begin(), children.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void SignalDescendantsOf(pid_t process, int signal) {
  constexpr int kMostLooks = 10;
  std::vector<pid_t> before;
  for (int look = 0; look < kMostLooks; ++look) {
    const std::vector<pid_t> found = DescendantsOf(process);
    if (found == before) return;
    for (const pid_t descendant : found) {
      if (!std::binary_search(before.begin(), before.end(), descendant)) kill(descendant, signal);
    }
    before = found;
  }
}

void KillDescendants() {
  bool may_kill = false;
  do {
    may_kill = false;
    for (const pid_t process : DescendantsOf(getpid()))
      may_kill = kill(process, SIGKILL) == 0 || may_kill;
  } while (may_kill && (waitpid(-1, nullptr, 0) > 0 || errno == EINTR));
}

}  // namespace cosched
