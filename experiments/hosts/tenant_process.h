#pragma once
// One child process of a host: started on its cores, never outliving its parent, known by a pidfd.
// Called by the launchers. Not thread-safe. The kernel ties the child to the *thread* that started
// it, until it executes a file with capabilities: that thread must live as long. A TenantGuard
// holds it to its parent in any case.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/unique_fd.h"
#include "experiments/hosts/process_tree.h"
#include "experiments/hosts/tenant_guard.h"
#include "experiments/os/cgroup.h"

namespace cosched {

// Takes ended processes out of the kernel's table, at ordinary priority on a thread of its own. A
// harness runs SCHED_FIFO, and reaping there can stop a core for a second: the kernel waits,
// spinning, until the tenant's last thread has tidied up /proc, and that thread may be the one it
// has just preempted (seen on 6.18: waitid -> release_task -> d_walk until the real-time throttle).
class Reaper final : public ChildKeeper {
 public:
  Reaper();
  ~Reaper() override;  // When all have been reaped that die within 10 s.
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  // A child of this process that was killed or has ended, and its cgroup (or null), which can only
  // be removed after it.
  void Take(UniqueFd pidfd, std::unique_ptr<Cgroup> group);

  void Know(pid_t child);  // Has been started, and will be taken.
  bool Knows(pid_t child) const override;
  void Reap(UniqueFd orphan) override { Take(std::move(orphan), nullptr); }

 private:
  struct Ended {
    UniqueFd pidfd;
    std::unique_ptr<Cgroup> group;
  };
  void Run();

  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Ended> ended_;
  std::set<pid_t> known_;
  bool stopping_ = false;
  std::thread thread_;
};

class TenantProcess {
 public:
  struct Launch {
    std::filesystem::path binary;
    std::vector<std::string> arguments;  // Without argv[0].
    CpuSet
        cores;  // The process runs nowhere else from its first instruction on. Empty = where this
                // process may; no mask of its own then narrows what its cgroup allows later.
    std::vector<int> doors;      // The cgroup's that it enters first (Cgroup::Doors()).
    std::vector<int> inherited;  // The only descriptors it gets, besides 0, 1 and 2; above 2.
    std::filesystem::path log;   // Gets its stdout and stderr. Empty = this process's stderr.
    bool outlives =
        false;  // The process goes on to its own end if its parent dies: TenantGuard::Await.
    // How long a killed one may take to die before it is given up.
    std::chrono::milliseconds death_timeout = std::chrono::seconds(10);
  };

  // Exit codes of a child that never got to run the binary.
  static constexpr int kOrphaned = 124, kNoCores = 125, kNoOutput = 126, kNoBinary = 127;

  // Throws std::system_error if the kernel refuses to start a process or the log can't be written.
  // The guard and the reaper outlive it.
  TenantProcess(const Launch& launch, TenantGuard* guard, Reaper* reaper,
                std::unique_ptr<Cgroup> group = nullptr);
  ~TenantProcess();
  TenantProcess(const TenantProcess&) = delete;
  TenantProcess& operator=(const TenantProcess&) = delete;

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  // Readable once the process has ended.
  void Signal(int signal);                    // Nothing if it has ended.

  // How it ended, once it has, such as "exited with status 3" or "was killed by signal 9 (Killed)".
  // What it has forked is killed then; this blocks only while the kernel does not let that die, at
  // most for the launch's death_timeout.
  struct End {
    bool success = false;  // Exit code 0.
    std::string how;
    bool all_gone = true;   // What it forked: nothing runs any more.
    std::string said = {};  // By what was to run it, where it never came to a word; or "".
  };
  std::optional<End> Ended();
  // At once and whatever its state. True if nothing of it, nor of what it has forked, runs any
  // more; false if the kernel has not let it die in time (it waits for a disk, or is frozen).
  bool Kill();

 private:
  std::optional<End> Wait(int flags);

  Reaper* const reaper_;
  const std::chrono::milliseconds death_timeout_;
  std::unique_ptr<Cgroup> group_;
  std::string mark_;  // In its environment: finds the processes that it leaves behind.
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::optional<End> end_;
  bool given_up_ = false;  // The process was killed and has not died in time.
};

// The descriptor above 0, 1 and 2 (a harness may have been started with these closed), closed on
// exec.
UniqueFd AboveStdio(UniqueFd fd);

}  // namespace cosched
