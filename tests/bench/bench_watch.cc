// What it costs a tenant to notice that somebody else has changed which cores it may use, and how
// soon it follows: "core %" is the CPU time of its control thread while it computes (of the whole
// process while it is paused), in percent of a core, over 10 s; the bound is 0.5. p50, p99 and max
// are the milliseconds from the write to the last thread in place, over 200 changes; the bound is
// 5. The tenant is a real one that trains LeNet; the writes are sched_setaffinity of all its
// threads (taskset -a) and, where this user may, its cgroup's cpuset.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "experiments/hosts/process_host.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "experiments/os/process_sampler.h"
#include "experiments/os/thread_affinity.h"
#include "experiments/tenant/demand.h"
#include "tests/paths.h"

namespace cosched {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kWatched{10};
constexpr JobId kJob{1};

// The one child of this process that is alive.
pid_t OnlyChild() {
  std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
  pid_t child = -1;
  children >> child;
  return child;
}

class Tenant {
 public:
  Tenant() {
    Job job;
    job.id = kJob;
    job.request = {1, all_.Count(), all_.Count()};
    TenantSpec spec;
    spec.model = "lenet5";
    spec.steps = 1'000'000'000;
    host_.Describe(kJob, spec);
    host_.Start(job, Place::Whole(all_, DefaultSplit(all_.Count())));
    settled_ = Settle();
    pid_ = OnlyChild();
  }

  bool settled() const { return settled_ && pid_ > 0; }
  pid_t pid() const { return pid_; }
  const CpuSet& all() const { return all_; }
  const CpuSet& one() const { return one_; }
  const Topology& topology() const { return topology_; }
  void Pause() {
    host_.Pause(kJob);
    settled_ = Settle();
  }

  // CPU time of all threads, or of those that neither compute nor do the steps.
  Duration RunTime(bool whole) const {
    ProcessSampler sampler(pid_);
    sampler.Read(ProcessSampler::Look::kLast);
    Duration time{0};
    for (const ProcessSampler::Thread& thread : sampler.Threads()) {
      if (whole || (!thread.compute && thread.tid != pid_)) time += thread.run_time;
    }
    return time;
  }

  // How long the pools take to be where `write` lets them be; nullopt if they stay where they are.
  std::optional<Duration> Follow(const CpuSet& cores, const std::function<void()>& write) {
    const TimePoint begin = host_.GetClock().Now();
    write();
    while (host_.GetClock().Now() < begin + seconds(5)) {
      if (host_.NextEvent(host_.GetClock().Now() + milliseconds(20))) return std::nullopt;
      for (const ResizeSample& resize : host_.TakeResizes()) {
        if (resize.time > begin && resize.cores == cores) return resize.time - begin;
      }
    }
    return std::nullopt;
  }

 private:
  bool Settle() {
    const auto event = host_.NextEvent(host_.GetClock().Now() + seconds(60));
    host_.TakeResizes();
    return event && std::holds_alternative<HostSettled>(*event);
  }

  const Topology topology_ = Topology::ThisMachine();
  const CpuSet all_ = FirstCores(topology_.Cpus(), 2), one_ = FirstCores(all_, 1);
  ProcessHost host_{{.binary = CoschedBinary(), .log_directory = {}, .topology = topology_}};
  bool settled_ = false;
  pid_t pid_ = -1;
};

void Cost(benchmark::State& state, bool paused) {
  Tenant tenant;
  if (paused) tenant.Pause();
  if (!tenant.settled()) return state.SkipWithError("the tenant does not settle");
  for (auto _ : state) {
    const Duration before = tenant.RunTime(paused);
    std::this_thread::sleep_for(kWatched);
    state.counters["core %"] =
        100 * ToSeconds(tenant.RunTime(paused) - before) / ToSeconds(kWatched);
  }
}
BENCHMARK_CAPTURE(Cost, paused, true)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Cost, computing, false)->Iterations(1)->Unit(benchmark::kMillisecond);

enum class Means { kAffinity, kCpuset };

void Latency(benchmark::State& state, Means means) {
  if (means == Means::kCpuset && !Cgroup::Probe().cpuset) {
    return state.SkipWithError("no cpuset can be made here");
  }
  Tenant tenant;
  if (!tenant.settled()) return state.SkipWithError("the tenant does not settle");
  if (tenant.all().Count() < 2) return state.SkipWithError("needs two cores");
  std::optional<Cgroup> group;
  if (means == Means::kCpuset) {
    group.emplace(Cgroup::Create(OwnerName() + "-watch", tenant.all()));
    group->Attach(tenant.pid());
  }
  std::vector<double> taken;
  std::mt19937 random(1);
  for (auto _ : state) {
    // At no fixed phase of the watch's period; and after what a person would take for two changes.
    std::this_thread::sleep_for(std::chrono::microseconds(200'000 + random() % 10'000));
    const CpuSet& cores = taken.size() % 2 == 1 ? tenant.all() : tenant.one();
    const auto time = tenant.Follow(cores, [&] {
      if (group) {
        group->SetCores(cores);
      } else {
        ConfineThreads(tenant.pid(), cores, tenant.topology());
      }
    });
    if (!time) return state.SkipWithError("the tenant does not follow");
    taken.push_back(ToSeconds(*time) * 1e3);
    state.SetIterationTime(ToSeconds(*time));
  }
  std::sort(taken.begin(), taken.end());
  state.counters["p50 ms"] = taken[taken.size() / 2];
  state.counters["p99 ms"] = taken[taken.size() * 99 / 100];
  state.counters["max ms"] = taken.back();
}
BENCHMARK_CAPTURE(Latency, affinity, Means::kAffinity)
    ->UseManualTime()
    ->Iterations(200)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Latency, cpuset, Means::kCpuset)
    ->UseManualTime()
    ->Iterations(200)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
