#pragma once
// The cgroup of one tenant, version 1 (separate hierarchies, as on this kernel) or 2: how a host
// confines a whole process with one write, gives it a CPU quota, and reads what the kernel counts
// for it. Called by the hosts (own groups under "cosched/", or a container's, found by its process)
// and by their samplers. Paths are resolved once, in the constructor; no global state. Not
// thread-safe.
//
// Facts: a v1 cpuset needs cpus and mems before a task may enter; a thread's own pin may be lost or
// restored by a change of the cpuset, so masks are applied again after it; a shrink written at
// normal priority on a busy core can stall for milliseconds, so hosts write with SCHED_FIFO.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"

namespace cosched {

class Cgroup {
 public:
  // What this user may do on this machine; cached by nobody, costs some system calls.
  struct Support {
    bool cpuset = false, quota = false, pressure = false, freezer = false;
    std::string why_not;  // For `cosched doctor`: what is missing. "" = nothing.
  };
  static Support Probe();

  // Makes the group "cosched/<name>" in every hierarchy that allows it. Throws std::system_error if
  // no cpuset can be had.
  static Cgroup Create(const std::string& name, const CpuSet& cores);
  // The groups that a process is in (a container's). Throws std::system_error if it is gone.
  static Cgroup Of(pid_t process);
  ~Cgroup();  // Of a created one: kills nothing; removes the group if it is empty by now.
  Cgroup(Cgroup&&) noexcept;
  Cgroup& operator=(Cgroup&&) noexcept;

  const std::string& Path() const;  // Within its hierarchy, e.g. "/cosched/4711-3".
  void Attach(pid_t process);       // With all its threads. Throws std::system_error.

  // Each throws std::system_error if the kernel refuses.
  void SetCores(const CpuSet& cores);  // REQUIRES: not empty.
  CpuSet Cores() const;                // Effective.
  void SetQuota(double cores);         // CPU time per time, e.g. 1.5; infinity = no quota.
  void Freeze(bool frozen);

  struct Counters {
    std::optional<Duration> throttled;  // Where a cpu controller is there.
    std::optional<Duration> pressure;   // PSI "some", total.
  };
  Counters Read() const;  // Cheap: files stay open.

  // Groups that an ended cosched left behind (name "<pid of its host>-…", no such process);
  // removes them, killing what is inside, and returns their paths.
  static std::vector<std::string> Clean();

 private:
  struct Impl;
  explicit Cgroup(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
