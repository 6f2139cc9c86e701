#pragma once
// One child process of a host: started on its cores, never outliving its parent, known by a pidfd.
// Called by ProcessHost. Not thread-safe. The kernel ties the child to the *thread* that started
// it: that thread must live as long.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "experiments/hosts/unique_fd.h"

namespace cosched {

class TenantProcess {
 public:
  struct Launch {
    std::filesystem::path binary;
    std::vector<std::string> arguments;  // Without argv[0].
    CpuSet cores;                        // It runs nowhere else from its first instruction on.
    std::vector<int> inherited;  // The only descriptors it gets, besides 0, 1 and 2; above 2.
    std::filesystem::path log;   // Gets its stdout and stderr. Empty = this process's stderr.
  };

  // Exit codes of a child that never got to run the binary.
  static constexpr int kOrphaned = 124, kNoCores = 125, kNoOutput = 126, kNoBinary = 127;

  // Throws std::system_error if the kernel refuses to start a process or the log can't be written.
  explicit TenantProcess(const Launch& launch);
  ~TenantProcess() { Kill(); }
  TenantProcess(const TenantProcess&) = delete;
  TenantProcess& operator=(const TenantProcess&) = delete;

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  // Readable once the process has ended.
  void Signal(int signal);                    // Nothing if it has ended.

  // How it ended, once it has: {0, ""} for exit code 0, otherwise a code and a description such as
  // "exited with status 3" or "was killed by signal 9 (Killed)". Does not block. The process is
  // then gone, also from the process table.
  struct End {
    bool success = false;
    std::string how;
  };
  std::optional<End> Ended();
  void Kill();  // At once and whatever its state; gone when this returns.

 private:
  std::optional<End> Wait(int flags);

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::optional<End> end_;
};

// The descriptor above 0, 1 and 2 (a harness may have been started with these closed), closed on
// exec.
UniqueFd AboveStdio(UniqueFd fd);

}  // namespace cosched
