#pragma once
// What the kernel says of a process's threads: /proc/PID/task/*/{status,schedstat}. Called by a
// host for its samples and to check that a tenant is where it should be. Cheap: files of compute
// threads stay open and are read again in place. Not thread-safe.

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/hosts/unique_fd.h"

namespace cosched {

// The names that MalleablePool gives its threads ("<pool>/<index>") in the two pools of a session
// (thread_pools.cc).
bool IsComputeThreadName(std::string_view name);

class ProcessSampler {
 public:
  struct Thread {
    pid_t tid = 0;
    bool compute = false;
    char state = '?';  // As ps shows it: R runnable or running, S asleep, T stopped, …
    Duration run_time{0};
    Duration run_queue_wait{0};
    int64_t involuntary_switches = 0;
  };
  // Over all compute threads, also those that have ended.
  struct Totals {
    int runnable = 0;
    Duration run_time{0};
    Duration run_queue_wait{0};
    int64_t involuntary_switches = 0;
  };

  explicit ProcessSampler(pid_t process) : process_(process) {}

  // Reads everything now. False if the process is gone; what was read last then stays.
  bool Read();
  const std::vector<Thread>& Threads() const { return threads_; }  // Living, ascending.
  Totals ComputeTotals() const;

 private:
  struct Files {
    UniqueFd status, schedstat;
  };

  bool ReadThread(Thread* thread, Files* files);

  pid_t process_;
  std::vector<Thread> threads_;
  std::vector<Files> files_;  // Parallel to threads_.
  Totals ended_;
};

// The threads of a process, ascending; empty if it is gone. Opens /proc/PID/task each time.
std::vector<pid_t> ThreadsOf(pid_t process);

}  // namespace cosched
