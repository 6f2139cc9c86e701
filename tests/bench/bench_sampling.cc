// What one sample of all tenants costs the harness: 1, 4 and 16 tenants of 8 compute threads each,
// every 100 ms, as `cosched run` takes it. "core %" is the share of a core that the samples take;
// the bound is 0.5. In "all_run" every thread spins, as a machine full of rigid tenants has it; in
// "one_runs" a tenant has one core and seven threads asleep, as malleable ones on a shared machine.
// The tenants are stand-ins that only spin (tests/experiments/hosts/fake_tenant.h).

#include <benchmark/benchmark.h>
#include <time.h>

#include <chrono>
#include <string>
#include <thread>

#include "experiments/hosts/process_host.h"
#include "experiments/os/realtime.h"
#include "tests/experiments/hosts/fake_tenant.h"

namespace cosched {
namespace {

constexpr Duration kPeriod = std::chrono::milliseconds(100);
constexpr int kThreads = 8;

Duration CpuTimeOfThisThread() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// False if one of them does not come up.
bool StartTenants(int count, Elasticity elasticity, const Topology& topology, ProcessHost* host) {
  const CpuSet cores =
      elasticity == Elasticity::kRigid ? topology.Cpus() : CpuSet{topology.Cpus().First()};
  const Split threads{1, elasticity == Elasticity::kRigid ? kThreads : 1};
  for (int i = 1; i <= count; ++i) {
    Job job;
    job.id = JobId{i};
    job.request = {1, kThreads, kThreads};
    job.elasticity = elasticity;
    TenantSpec spec;
    spec.model = "obedient";
    spec.steps = 1'000'000'000;
    host->Describe(job.id, spec);
    host->Start(job, Place::Whole(cores, threads));
  }
  for (int settled = 0; settled < count; ++settled) {
    const auto event = host->NextEvent(host->GetClock().Now() + std::chrono::seconds(60));
    if (!event || !std::holds_alternative<HostSettled>(*event)) return false;
  }
  return true;
}

void Sample(benchmark::State& state, Elasticity elasticity) {
  const RealtimeScope realtime;  // As the harness has it.
  const Topology topology = Topology::ThisMachine();
  ProcessHost host({.binary = "/proc/self/exe", .log_directory = {}, .topology = topology});
  if (!StartTenants(static_cast<int>(state.range(0)), elasticity, topology, &host)) {
    state.SkipWithError("the tenants do not start");
    return;
  }
  host.Sample();  // Opens the files.
  Duration spent{0};
  for (auto _ : state) {
    std::this_thread::sleep_for(kPeriod);
    const Duration before = CpuTimeOfThisThread();
    benchmark::DoNotOptimize(host.Sample());
    const Duration taken = CpuTimeOfThisThread() - before;
    spent += taken;
    state.SetIterationTime(ToSeconds(taken));
  }
  state.counters["core %"] =
      100 * ToSeconds(spent) / ToSeconds(kPeriod) / static_cast<double>(state.iterations());
}

BENCHMARK_CAPTURE(Sample, all_run, Elasticity::kRigid)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->UseManualTime()
    ->Iterations(30)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Sample, one_runs, Elasticity::kMalleable)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->UseManualTime()
    ->Iterations(30)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cosched
