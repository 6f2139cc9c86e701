#pragma once
// What differs between a tenant that is a child process and one in a container: how it starts, is
// reached, confined and ended. A SupervisedTenant does everything else. Implemented by
// process_launcher.h and container_launcher.h; used by a host on one thread.

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "experiments/hosts/tenant_process.h"
#include "experiments/os/cgroup.h"
#include "policies/job.h"

namespace cosched {

struct TenantLaunch {
  JobId job;
  std::vector<std::string> arguments;  // The binary's; how to reach the host is added.
  CpuSet cores;                        // The tenant runs only there from its first instruction on.
  int counters = -1;                   // The shared page's descriptor.
  std::filesystem::path log;           // Gets its stdout and stderr. Empty = this process's stderr.
  std::vector<std::string> folders;    // The tenant reads them: its data set's, its model file's.
};

class LaunchedTenant {
 public:
  virtual ~LaunchedTenant() = default;  // Kills it.

  // Goes on with the start. Throws std::runtime_error if it can't be started after all.
  virtual void Advance() = 0;
  virtual pid_t pid() const = 0;   // The tenant's process; -1 until that is known.
  virtual int socket() const = 0;  // To talk to it; -1 until it has connected. Never before pid().
  // Where it listens for `cosched ctl`, in ControlDirectory() if relative; "" = not known.
  virtual std::filesystem::path Control() const { return {}; }
  // Readable when Advance or Ended has news.
  virtual std::vector<int> Descriptors() const = 0;

  // How it ended, once it has, and whether all that it forked is gone: that is killed first, and if
  // the kernel does not let it die this blocks for up to 10 s.
  virtual std::optional<TenantProcess::End> Ended() = 0;
  virtual void Signal(int signal) = 0;  // Nothing if it has ended or not begun.
  // At once. True if nothing of it runs any more; false if the kernel has not let it die within
  // 10 s: its cores may be in use still.
  virtual bool Kill() = 0;

  // Moves it: the cpuset, or the quota, of its cgroup. REQUIRES: it has one. Done() is true once
  // the kernel holds it there, at once unless the container's runtime has to be asked. Both throw
  // std::runtime_error if that is refused.
  virtual bool HasGroup() const = 0;
  virtual void Move(const CpuSet& cores) = 0;
  virtual bool Done() = 0;
  struct Times {
    std::string actuator;  // As in ActuationSample.
    std::optional<Duration> fast = {};
    std::optional<Duration> runtime = {};
  };
  virtual Times LastTimes() const = 0;            // The last finished move's.
  virtual Cgroup::Counters Counters() const = 0;  // The tenant's cgroup's; empty without one.
  // CPU time of processes that are not this process's children, and so not accounted to it; as of
  // the last Counters().
  virtual Duration UsedByOthersChildren() const = 0;
};

class TenantLauncher {
 public:
  virtual ~TenantLauncher() = default;
  // Throws std::runtime_error if it can't be started.
  virtual std::unique_ptr<LaunchedTenant> Launch(const TenantLaunch& launch) = 0;
};

}  // namespace cosched
