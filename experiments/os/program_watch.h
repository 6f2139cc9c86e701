#pragma once
// What a program makes of the cores that it may use: how many threads of it and of all that it has
// started want one, how many they get, what holds them back, and by which runtimes they are made.
// Called by `cosched doctor`, of a program that it starts or of one that runs. Reads files of /proc and of cgroups only. Not thread-safe.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/os/process_sampler.h"
#include "experiments/os/thread_runtime.h"

namespace cosched {

struct ProgramFacts {
  Duration watched{0};
  int processes = 0, threads = 0;  // The most at once.
  // Threads that ran or waited for a core: on average, and the most that did for at least half of the
  // time between two looks.
  double wanting = 0;
  int most_wanting = 0;
  double used_cores = 0;     // CPU time per time.
  double waiting_share = 0;  // Of the time in which threads could run: they waited for a core.
  // Of the process that used most.
  CpuSet allowed;
  std::optional<CpuQuota> quota;  // The tightest that holds for it.
  std::vector<QuotaStops> stops;  // Its groups that were stopped meanwhile.
  std::map<std::string, std::string> environment;
  std::vector<const ThreadRuntime*> runtimes;  // Of all processes.
  // Another user's process, whose runtimes and environment this one may not read.
  bool hidden = false;
  // It ran before it was looked at, so that its threads may be others by now than those with which its
  // runtimes began. Said by who looks.
  bool was_running = false;
};

class ProgramWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgramWatch(const Topology& machine, CgroupMounts mounts = CgroupMounts::Here())
      : machine_(machine), mounts_(std::move(mounts)) {}

  // Looks at these processes, ascending, of which those seen before go on. What those of the first
  // look did before does not count. What has ended and is not reaped yet still counts. A look costs
  // some ten microseconds a thread.
  void Look(const std::vector<pid_t>& processes);
  // Of all looks so far. Zeros before the second.
  ProgramFacts Facts() const;

 private:
  struct Times {
    Duration run{0}, wait{0};
  };
  struct Thread {
    Times seen;
    Clock::time_point since;  // What it did before does not count.
    Duration counted{0};
  };
  struct Process {
    explicit Process(pid_t pid) : sampler(pid) {}
    ProcessSampler sampler;
    std::map<pid_t, Thread> threads;
    Duration used{0};
  };
  // What is asked of a process while it lives.
  void Ask(pid_t pid, const Process& process);
  // What it did since the last look.
  Times Advance(Process* process, Clock::time_point now, Duration interval, int* wanting);

  const Topology machine_;
  const CgroupMounts mounts_;
  std::optional<Clock::time_point> first_, last_;
  int looks_ = 0;
  std::map<pid_t, Process> processes_;
  ProgramFacts facts_;  // But for what follows from the sums.
  Times sums_;
  Duration busiest_{-1};  // What the process has used of which the facts are.
  std::map<std::filesystem::path, QuotaStops> stops_before_;
};

}  // namespace cosched
