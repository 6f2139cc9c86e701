#pragma once
// What a tenant runs, and what a host samples of it. Plain data shared by the harness, the hosts
// and the tenant.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/cpu_set.h"
#include "engine/base/cpu_share.h"
#include "experiments/wire/command_choice.h"
#include "experiments/wire/stage_counters.h"
#include "policies/job.h"
#include "policies/service.h"
#include "workloads/pipelines/pipeline_choice.h"
#include "workloads/program_spec.h"

namespace cosched {

constexpr int64_t kMostSpinMicroseconds = 100'000;

// With split = "auto" a malleable tenant finds its split itself, whatever split its host's policy
// gives it; tenants whose threads are fixed keep those. In the simulator pipelines that serve do so
// by the same search; of others it means inter 1, the split that profiles are measured with.
struct TenantSpec : ProgramSpec {
  int64_t steps = 50;
  // In place of the network; then it serves, and `model` is the application's name.
  PipelineChoice pipeline = {};
  bool IsPipeline() const { return !pipeline.application.empty(); }
  // In place of the network, too; then `steps` may be 0, if nobody knows how many it does.
  CommandChoice command = {};
  bool IsCommand() const { return !command.arguments.empty(); }
  // Answers requests until it is drained or stopped, in place of `steps` steps: at most `batch` at
  // once, fewer if the oldest of them has waited for max_delay.
  bool serves = false;
  Duration max_delay{0};
};

// "resnet20 train batch 32"
inline std::string ProgramName(const TenantSpec& spec) {
  if (spec.IsPipeline()) return PipelineProgramName(spec.pipeline);
  if (spec.IsCommand()) return CommandProgramName(spec.command);
  return spec.model + " " + std::string(ToString(spec.mode)) + " batch " +
         std::to_string(spec.batch);
}

// "resnet20 serve up to 32 at once"
inline std::string ServiceName(const TenantSpec& spec) {
  if (spec.IsPipeline()) {
    return PipelineProgramName(spec.pipeline) + ", up to " +
           std::to_string(spec.pipeline.open.open) + " open";
  }
  return spec.model + " serve up to " + std::to_string(spec.batch) + " at once";
}

// One thread of a tenant at one instant. Counters are cumulative since its start.
struct ThreadSample {
  int tid = 0;
  bool compute = false;
  int cpu = -1;  // Where it ran last.
  CpuSet cores;  // Where it may run.
  Duration run_time{0};
  Duration run_queue_wait{0};
};

// One tenant at one instant. Counters are cumulative since its start.
struct TenantSample {
  JobId job;
  TimePoint time;
  CpuSet granted;   // Cores it holds: those of its grant, and while a shrink settles also those it
                    // has not left.
  CpuShare amount;  // The CPU time that goes with them.
  int runnable_threads = 0;  // Compute threads in state R (from /proc) that have work.
  int compute_threads =
      0;  // Compute threads awake (pools' active workers), from the shared counters.
  bool settling = false;       // A resize was under way at some point since the sample before.
  Duration run_time{0};        // On a core, all compute threads (schedstat).
  Duration run_queue_wait{0};  // Runnable but not running (schedstat).
  int64_t involuntary_switches = 0;
  int64_t migrations = 0;  // Moves of compute threads to another core.
  // The cgroup's times; absent where the tenant has none of its own.
  std::optional<Duration> throttled;  // Time in which its CPU quota was used up.
  std::optional<Duration> pressure;   // PSI "some": time in which a thread of it waited for a CPU.
  int64_t steps = 0;
  int64_t images = 0;
  Duration spin_time{0};              // Part of run_time: spent looking for work.
  PipelineCounters pipeline;          // A pipeline's.
  std::vector<ThreadSample> threads;  // Only on request: the living ones.
};

// One resize of a tenant's pools, whoever asked for it; reported by the tenant.
struct ResizeSample {
  JobId job;
  TimePoint time;       // When the last thread was in its place.
  std::string cause;    // ToString(ResizeCause): "grant", "cpuset", "ctl", …
  Split before, after;  // {0, 0} = paused.
  CpuSet cores;         // Where the threads are now.
  std::string op;       // Type of the op that ran when it was asked for; "" = none.
  Duration taken{0};    // From the request (or from the cpuset's change being seen) to `time`.
};

// How a host moved a tenant to other cores, or stopped it there, once per grant or pause.
struct ActuationSample {
  JobId job;
  TimePoint time;
  CpuSet cores;  // None: a pause.
  // "cpuset", "quota" or "affinity" (of all threads, set by the host); "runtime" (the container
  // runtime's own update); "message" (nothing but the message: the tenant places its threads);
  // "stop" (SIGSTOP to the paused process, once its pools have parked if it is malleable).
  std::string actuator;
  std::optional<Duration>
      fast;  // The write to the cgroup, sched_setaffinity of all threads, or the message; of a
             // stop the time until every thread was seen stopped.
  std::optional<Duration> runtime;  // The container runtime's own update, where it was called.
};

// One request that a service has answered.
struct RequestSample {
  ServerId server;
  int64_t id = 0;
  TimePoint scheduled, received, started, finished;
  int batch = 0;        // Requests that were answered together with it, itself included.
  bool failed = false;  // The answer is that there is none: a pipeline's stage refused the request.
};

// Written by the tenant when a step ends; read back by the host for the records.
struct StepSample {
  JobId job;
  int64_t step = 0;  // 0-based.
  TimePoint finished;
  Duration duration{0};
  int threads = 0;  // Compute threads active at the end of the step.
  double loss = 0;
};

}  // namespace cosched
