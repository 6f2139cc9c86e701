#pragma once
// What differs between a tenant that is a child process and one in a container: how it starts, is
// reached, confined and ended. A SupervisedTenant does everything else. Implemented by
// process_launcher.h and container_launcher.h; used by a host on one thread.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/hosts/tenant_process.h"
#include "experiments/os/actuator.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/thread_affinity.h"
#include "policies/job.h"
#include "policies/place.h"

namespace cosched {

struct TenantLaunch {
  JobId job;                           // Of a device, which has none: -1, -2, …
  std::vector<std::string> arguments;  // The binary's; how to reach the host is added.
  Place place;                       // The tenant runs nowhere else from its first instruction on.
  int ranks = 1;                     // Processes that it is of.
  int counters = -1;                 // The shared page's descriptor.
  std::filesystem::path log;         // Gets its stdout and stderr. Empty = this process's stderr.
  std::vector<std::string> folders;  // That it reads: of its data set, of its model's file.
  // A process has a cgroup of its own where tenants have one; a container has one in any case.
  bool has_group = true;
};

class LaunchedTenant {
 public:
  virtual ~LaunchedTenant() = default;  // Kills it.

  // Goes on with the start. Throws std::runtime_error if it can't be started after all.
  virtual void Advance() = 0;
  virtual pid_t pid() const = 0;  // The process's; -1 until that is known.
  // Its further processes: its ranks, all known when pid() is, or what a program of somebody else's has
  // started by now.
  virtual std::vector<pid_t> Others() const { return {}; }
  // What started these, computes nothing, and is moved by nobody but the host; -1: it has none.
  virtual pid_t Starter() const { return -1; }
  virtual int socket() const = 0;  // To talk to it; -1 until it has connected. Never before pid().
  // Where it listens for `cosched ctl`, in ControlDirectory() if relative; "" = not known.
  virtual std::filesystem::path Control() const { return {}; }
  // Readable when Advance or Ended has news.
  virtual std::vector<int> Descriptors() const = 0;

  // How it ended, once it has, and whether all that it forked is gone: that is killed first, and if
  // the kernel does not let it die this blocks for up to 10 s.
  virtual std::optional<TenantProcess::End> Ended() = 0;
  // To all that compute. Nothing if it has ended or not begun.
  virtual void Signal(int signal) = 0;
  // At once. True if nothing of it runs any more; false if the kernel has not let it die within
  // 10 s: its cores may be in use still.
  virtual bool Kill() = 0;

  // Moves it: the cpuset of its cgroup, and the quota where tenants have one. REQUIRES: it has one,
  // and the place is no pause. Done() is true once the kernel holds it there, at once unless the
  // container's runtime has to be asked. Both throw std::runtime_error if that is refused.
  virtual bool HasGroup() const = 0;
  virtual void Move(const Place& place) = 0;
  virtual bool Done() = 0;
  struct Times {
    std::string actuator;  // As in ActuationSample.
    std::optional<Duration> fast = {};
    std::optional<Duration> runtime = {};
  };
  virtual Times LastTimes() const = 0;  // The last finished move's.
  // Takes the NUMA nodes that its cgroup lets it have memory on; -1: it has none.
  virtual int MemoryFile() const { return -1; }
  virtual Cgroup::Counters Counters() const = 0;  // The cgroup's; empty without one.
  // CPU time of processes that are not this process's children, and so not accounted to it; as of
  // the last Counters().
  virtual Duration UsedByOthersChildren() const = 0;
};

// Binds every thread of its processes to exactly these cores. Anything but done, of whichever process:
// that; but others may have gone. REQUIRES: cores is not empty.
Confinement ConfineAll(const LaunchedTenant& tenant, const CpuSet& cores, const Topology& topology);
// Of its processes, which may be none yet; nullopt if they are gone.
std::optional<Duration> CpuTimeOfAll(const LaunchedTenant& tenant);

// What moves tenants' cgroups.
struct GroupSettings {
  bool cpuset = false;  // They have one, for their cores.
  // … and a quota, for their amount, counted by this period.
  std::optional<std::chrono::microseconds> quota_period = {};

  // shares: the policy grants shares, which only a quota can make real.
  static GroupSettings For(Actuator actuator, bool shares, std::chrono::microseconds quota_period) {
    GroupSettings groups{.cpuset = shares || actuator != Actuator::kAffinity};
    if (shares || actuator == Actuator::kQuota) groups.quota_period = quota_period;
    return groups;
  }
  // The limit of a tenant there. REQUIRES: quota_period.
  std::optional<CpuLimit> LimitAt(const Place& place) const {
    if (place.Owns()) return std::nullopt;
    return CpuLimit{place.amount, *quota_period};
  }
  std::string_view Name() const { return quota_period ? "quota" : "cpuset"; }
};

// Puts the group there. How long the kernel took. Throws std::system_error if it refuses.
Duration MoveGroup(const Place& place, const GroupSettings& groups, Cgroup* group);

class TenantLauncher {
 public:
  virtual ~TenantLauncher() = default;
  // Throws std::runtime_error if it can't be started.
  virtual std::unique_ptr<LaunchedTenant> Launch(const TenantLaunch& launch) = 0;
};

}  // namespace cosched
