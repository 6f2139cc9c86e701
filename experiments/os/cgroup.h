#pragma once
// The cgroup of one tenant, version 1 (separate hierarchies, as on this kernel) or 2: how a host
// confines a whole process with one write, gives it a CPU quota, and reads what the kernel counts
// for it. Called by the hosts (own groups under "cosched/", or a container's, found by its process)
// and by their samplers. Paths are resolved once, when a group is made or found; no global state.
// Not thread-safe.
//
// Facts: a v1 cpuset needs cpus and mems before a task may enter; a thread's own pin may be lost or
// restored by a change of the cpuset, so masks are applied again after it; a shrink written at
// normal priority on a busy core can stall for milliseconds, so hosts write with SCHED_FIFO; inside
// a v1 cpu group no thread may become SCHED_FIFO, so a tenant enters one only for a quota.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "engine/base/cpu_share.h"
#include "experiments/os/owner.h"

namespace cosched {

// Where the hierarchies are.
struct CgroupMounts {
  struct Mount {
    std::string root = "/";  // The group that the mount shows: not "/" inside some containers.
    std::filesystem::path point;
  };
  std::map<std::string, Mount, std::less<>> v1;  // By controller.
  std::optional<Mount> v2;
  std::filesystem::path proc = "/proc";
  std::filesystem::path systemd = "/run/systemd/system";  // Is there where systemd runs.

  static CgroupMounts Parse(std::string_view mountinfo);  // /proc/PID/mountinfo
  static CgroupMounts Here();
};

// So much CPU time, counted out anew in every period; a group that has used its part up waits for
// the next. The kernel refuses less than 1 ms a period. Default: its own, and container runtimes'.
struct CpuLimit {
  CpuShare amount;
  std::chrono::microseconds period = std::chrono::milliseconds(100);
};

class Cgroup {
 public:
  // What this user may do on this machine, by what the files say: nothing is written or made.
  struct Support {
    bool cpuset = false, quota = false, pressure = false;
    std::filesystem::path where;  // Groups are made in here; "" = nowhere.
    std::string why_not;          // What is missing. "" = nothing.
    std::string remedy;           // What to do about that, or about the place; "" = nothing known.
  };
  static Support Probe(const CgroupMounts& mounts = CgroupMounts::Here());

  // Makes the group "cosched/<name>" below this process's own group, or below the hierarchy's root
  // where that is not permitted; with a cpu controller only if `quota` is wanted. In version 2 the
  // processes of an own group that was delegated to us go to its child "harness", this one with
  // them. Names begin with OwnerName() and a "-". Throws std::system_error if it can't be had.
  static Cgroup Create(const std::string& name, const CpuSet& cores, bool quota = false,
                       const CgroupMounts& mounts = CgroupMounts::Here());
  // The groups that a process is in (a container's). Throws std::system_error if it is gone or has
  // no cpuset.
  static Cgroup Of(pid_t process, const CgroupMounts& mounts = CgroupMounts::Here());
  // Removes a group that Create made, and "cosched" if it was the last in it, waiting (1 s at most)
  // until what has ended in it is gone for the kernel too. Kills nothing.
  ~Cgroup();
  Cgroup(Cgroup&&) noexcept;
  Cgroup& operator=(Cgroup&&) noexcept;

  // Within its cpuset hierarchy, e.g. "/cosched/4711.90210-3".
  const std::string& Path() const;
  void Attach(pid_t process);  // With all its threads. Throws std::system_error.
  // A process that writes "0" to each is inside; for a child between fork and exec. Open while this
  // lives.
  std::vector<int> Doors() const;

  // Each throws std::system_error if the kernel refuses.
  void SetCores(const CpuSet& cores);  // REQUIRES: not empty.
  CpuSet Cores() const;                // Effective.
  // Takes the NUMA nodes that its memory may be on; -1 if they can't be set. Open while this lives.
  int MemoryFile() const;
  void SetLimit(const std::optional<CpuLimit>& limit);  // None: as much as there is.

  // Kills what is inside, and what that forks meanwhile. True if nothing of it runs any more; false
  // if the kernel has not let it die within the limit.
  bool Kill(std::chrono::milliseconds limit = std::chrono::seconds(10)) const;

  struct Counters {
    std::optional<Duration> throttled;  // Where it has a cpu controller of its own.
    std::optional<Duration> pressure;   // PSI "some", total.
    std::optional<Duration> used;       // CPU time.
  };
  Counters Read() const;  // Cheap: files stay open.

  // Removes the groups that ended hosts left behind, killing what is inside. Leaves those whose
  // owner is in another PID namespace or not known, and those with a process of another namespace
  // or user inside.
  static Cleaned Clean(const CgroupMounts& mounts = CgroupMounts::Here());
  // Removes the groups of one owner, which has ended, killing what is inside.
  static void RemoveOf(const std::string& owner, const CgroupMounts& mounts = CgroupMounts::Here());

 private:
  struct Impl;
  explicit Cgroup(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The path of a process's group within the hierarchy that holds its cpuset; "" if it is gone or
// there is none.
std::string CpusetPathOf(pid_t process, const CgroupMounts& mounts = CgroupMounts::Here());

// The folders of a process's group of a controller and of every group above it that is mounted
// here, innermost first; empty if there is no such controller. "self": this process, else its id.
std::vector<std::filesystem::path> GroupsAbove(const std::string& controller,
                                               const CgroupMounts& mounts,
                                               const std::string& process = "self");

}  // namespace cosched
