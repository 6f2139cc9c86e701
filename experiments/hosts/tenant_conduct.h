#pragma once
// Whether a tenant keeps to its settled grant and is alive, judged by looks at its threads and
// counters that are a while apart. Its verdicts are texts: why the tenant must go, or "". Called by
// SupervisedTenant between two grants. Not thread-safe.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/topology.h"
#include "experiments/hosts/surplus_threads.h"
#include "experiments/hosts/tenant_launcher.h"
#include "experiments/os/process_sampler.h"

namespace cosched {

// Whether the kernel puts every thread nowhere else, and has taken it away from where it ran.
bool AreWithin(const CpuSet& cores, const std::vector<ProcessSampler::Thread>& threads,
               const Topology& topology);
// Whether every thread is in the kernel's state "stopped".
bool IsStill(const std::vector<ProcessSampler::Thread>& threads);
// Whether no compute thread is runnable.
bool IsParked(const std::vector<ProcessSampler::Thread>& threads);
// CPU time of the process's compute threads, and of its main thread while that lives.
Duration RunTimeOf(const ProcessSampler& sampler, pid_t process);

class TenantConduct {
 public:
  // The topology outlives it.
  TenantConduct(const Topology* topology, Duration heartbeat_timeout)
      : topology_(topology), heartbeat_timeout_(heartbeat_timeout) {}

  // The latest grant has settled, and not by a stop: a new place to keep to.
  void Settle(TimePoint now);
  // Until the next one settles no sign of life is expected of it. What it has not shown so far it
  // still has to: else a policy that changes its mind often would hide a tenant that hangs.
  void Excuse() { looked_.reset(); }

  // Two signs of life are wanted: the control thread's heartbeat, and CPU time of the threads that
  // do the steps, unless it rests. Only the time between two looks at one settled grant counts, and
  // of a look that comes late no more than a quarter of the timeout: whoever looks was not scheduled,
  // as on a machine that was suspended, and the tenant may not have been either.
  struct Signs {
    int64_t heartbeats = 0;
    int64_t steps = 0;     // A service's: requests answered.
    Duration run_time{0};  // Main and compute threads'.
    bool rests = false;    // The tenant is paused, or nobody asks anything of it.
  };
  std::string CheckAlive(const Signs& signs, TimePoint now);

  // Where its grant wants all of its threads, also those that are not of the pools: they take a
  // core just as well. A tenant with a cgroup is moved back once, because somebody else may have
  // changed that; then it must stay in its place until the next look at least. counts_threads: it
  // must not compute with more threads than can use its CPU time.
  std::string CheckPlace(const std::vector<ProcessSampler::Thread>& threads, const Place& place,
                         bool counts_threads, LaunchedTenant* launched);

  // Whether the tenant ever computed for as long as a heartbeat may take without ending a step.
  bool HasStalled() const { return stalled_; }

 private:
  const Topology* const topology_;
  const Duration heartbeat_timeout_;
  TimePoint settled_;
  std::optional<TimePoint> looked_;  // At this grant; nullopt = not yet.
  // At the last look, and how much time that counts each has not changed for.
  int64_t heartbeats_ = -1, steps_ = -1;
  Duration run_time_{0};
  Duration without_heartbeat_{0}, without_step_{0}, without_run_{0};
  bool stalled_ = false;
  bool moved_back_ = false;  // At the last look.
  SurplusThreads surplus_threads_;
};

}  // namespace cosched
