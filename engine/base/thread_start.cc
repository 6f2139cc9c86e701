#include "engine/base/thread_start.h"

#include <sched.h>
#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace cosched {
namespace {

namespace fs = std::filesystem;

// The limit of this process's group or the nearest one above it that has one; "" if there is none.
// Version 1 mounts the controller in a folder of its own; a container may see only its own group,
// at the mount's root.
std::string PidsMax() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "pids") continue;
    const fs::path root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/pids";
    for (fs::path group = line.substr(second + 1);; group = group.parent_path()) {
      std::ifstream file(root / group.relative_path() / "pids.max");
      std::string limit;
      if (file >> limit && limit != "max") return limit;
      if (!group.has_relative_path()) break;
    }
  }
  return "";
}

}  // namespace

std::string ThreadLimits() {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  const bool none = limit.rlim_cur == RLIM_INFINITY;
  const std::string pids = PidsMax();
  return "ulimit -u " + (none ? "unlimited" : std::to_string(limit.rlim_cur)) +
         (pids.empty() ? "" : ", pids.max " + pids);
}

ThreadPriority ThreadPriority::OfThisThread() {
  return {sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, getpriority(PRIO_PROCESS, 0)};
}

void ThreadPriority::Take() const {
  if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE) return;
  const ThreadPriority now = OfThisThread();
  const sched_param none{};
  if (now.policy != policy) sched_setscheduler(0, policy, &none);
  if (now.nice != nice) setpriority(PRIO_PROCESS, 0, nice);
}

pthread_t StartThreadOn(int cpu, void* (*run)(void*), void* argument) {
  pthread_t thread{};
  int error = EINVAL;
  if (cpu >= 0) {
    const auto count = static_cast<size_t>(cpu) + 1;
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
        CPU_ALLOC(count), [](cpu_set_t* set) { CPU_FREE(set); });
    CPU_ZERO_S(CPU_ALLOC_SIZE(count), mask.get());
    CPU_SET_S(static_cast<size_t>(cpu), CPU_ALLOC_SIZE(count), mask.get());
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, CPU_ALLOC_SIZE(count), mask.get());
    error = pthread_create(&thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
  }
  if (error != 0) error = pthread_create(&thread, nullptr, run, argument);
  if (error != 0) throw std::system_error(error, std::generic_category());
  return thread;
}

std::system_error ThreadError(const std::string& what, const std::system_error& error) {
  return std::system_error(error.code(), what + " (" + ThreadLimits() + ")");
}

}  // namespace cosched
