#pragma once
// What the kernel says of a process's threads: /proc/PID/task/*/{schedstat,stat,sched}. Called by a
// host for its samples and to check that a tenant is where it should be. Not thread-safe.
//
// A sample must cost little (tests/bench/bench_sampling.cc), and no more for threads that are parked:
// files stay open and are read again in place, and it reads only what may have changed. Threads that
// ran lately are read; if they account for all CPU time that the process has used meanwhile, which
// one call tells, all others slept. A thread that neither ran nor was put on a core since the last
// look (schedstat) is where it was, runnable if it was; one that slept all the while and waits for a
// core just now is taken as asleep.

#include <sys/types.h>
#include <time.h>

#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "engine/base/unique_fd.h"

namespace cosched {

// A thread of the two pools of a session (thread_pools.cc) and its index there, by the name that
// MalleablePool gives it: "<pool>/<index>".
struct PoolThread {
  enum class Pool { kInter, kIntra } pool;
  int index;
};
std::optional<PoolThread> ParsePoolThread(std::string_view name);  // nullopt: another thread.

class ProcessSampler {
 public:
  struct Thread {
    pid_t tid = 0;
    bool compute = false;
    std::optional<PoolThread> worker;  // If it computes.
    bool idle_class = false;           // Runs only when nobody else wants its core (SCHED_IDLE).
    char state = '?';   // As ps shows it: R runnable or running, S asleep, T stopped, …
    int cpu = -1;       // Where it ran last.
    int64_t turns = 0;  // How often it was put on a core.
    Duration run_time{0};
    Duration run_queue_wait{0};
    int64_t involuntary_switches = 0;
    // From `sched`; where the kernel does not offer that file, the changes of `cpu` seen between
    // looks: a lower bound.
    int64_t migrations = 0;
    bool fresh = true;  // Read at the last look; else it has not run since its own.
  };
  // Over all compute threads, also those that have ended.
  struct Totals {
    Duration run_time{0};
    Duration run_queue_wait{0};
    int64_t involuntary_switches = 0;
    int64_t migrations = 0;
    Totals& operator+=(const Totals& more);
  };
  enum class Look {
    // Everything but switches and migrations, freshly read: for a decision.
    kStates,
    // As above, skipping what can't have changed. The core for which a thread waits that has not run
    // since is at most 16 looks old, unless its queues are followed; the last microseconds of one
    // that has gone to sleep, or ended, come at the latest after as many looks as there are threads.
    kChanges,
    // As above, with switches and migrations of a few threads at a time: at most 16 looks old.
    kSample,
    // Everything.
    kLast,
  };

  // follows_queues: in samples, too, `cpu` is that of the queue in which a thread waits now.
  explicit ProcessSampler(pid_t process, bool follows_queues = false)
      : process_(process), follows_queues_(follows_queues) {}

  // Another process is of the same program, from the next Read on. Its pools' threads count from
  // kOfOthers on.
  static constexpr int kOfOthers = CpuSet::kMaxCpu + 1;
  void Follow(pid_t other) { others_.emplace_back(other, follows_queues_); }

  // All that it starts is of the same program, from the next Read on, and there every thread computes,
  // whatever it is called; the process itself does not. REQUIRES: no other is followed.
  void FollowDescendants() { follows_descendants_ = true; }

  // Reads now. False if a process is gone; what was read last of it then stays. That a descendant is
  // gone is no news.
  bool Read(Look look = Look::kStates);
  // Living, ascending in each process.
  const std::vector<Thread>& Threads() const { return others_.empty() ? threads_ : all_; }
  Totals ComputeTotals() const;

 private:
  // What is kept of a living thread beside what is told of it.
  struct Source {
    UniqueFd schedstat, stat, sched;
    bool counters_stale = true;  // The thread has run since its counters were read.
    bool ran = true;             // At the last look it had run since the one before.
  };

  bool ReadOwn(Look look);
  void FindDescendants();
  bool ReadChanged();
  bool ReadKnown(size_t index);
  bool IsDue(size_t index) const;
  Duration RunTimeOfAll() const;
  std::optional<Duration> UsedByProcess();
  int ThreadCount();
  void ReadAll(const std::vector<pid_t>& tids, Look look);
  bool ReadThread(Look look, Thread* thread, Source* source);
  bool ReadStat(Thread* thread, Source* source);
  bool IsItsTurn(const Thread& thread) const;
  void ReadCounters(Look look);
  void ReadCountersOf(Thread* thread, Source* source);
  void Retire(const Thread& thread);

  pid_t process_;
  bool follows_queues_;
  bool follows_descendants_ = false;
  bool all_compute_ = false;  // It is a descendant.
  size_t samples_ = 0;
  std::vector<Thread> threads_;
  std::vector<Source> sources_;  // Parallel to threads_.
  size_t next_counters_ = 0;     // Whose switches are read next.
  bool has_sched_ = true;
  Totals ended_;
  Totals ended_others_;
  UniqueFd tasks_;                  // Its folder of threads.
  std::optional<clockid_t> clock_;  // The process's CPU time.
  // Of the process's CPU time: used by threads that ended unseen, or after they were seen last.
  Duration unknown_time_{0};
  std::vector<ProcessSampler> others_;
  std::vector<Thread> all_;  // Theirs, too; where there are none, nothing.
};

// The threads of a process, ascending; empty if it is gone. Opens /proc/PID/task each time.
std::vector<pid_t> ThreadsOf(pid_t process);

// CPU time of a process so far, by all its threads, also those that have ended; nullopt if it is
// gone.
std::optional<Duration> CpuTimeOf(pid_t process);

}  // namespace cosched
