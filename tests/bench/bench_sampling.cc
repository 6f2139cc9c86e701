// What tenants cost the harness. "core %" is the share of a core that it takes. The tenants are
// stand-ins that only spin (tests/experiments/hosts/fake_tenant.h). Numbers behind a name: tenants,
// and compute threads of each.
//
//   Sample/…     one sample of all tenants every 100 ms, as `cosched run` takes it; the bound is 0.5,
//                with 64 tenants of 64 threads, of which one runs, 5.
//                In "all_run" every thread spins, as a machine full of rigid tenants has it; in
//                "one_runs" a tenant has one core and all other threads asleep, as malleable ones on
//                a shared machine.
//   Supervise/…  those samples and all that the host does between them to see that tenants keep to
//                their places.
//   Leave/…      the end of a tenant without a cgroup beside so many processes of others: where the
//                harness adopts what has lost its parent, and by a look at all that there is.
//   BusyTimes/…  a reading of what each of so many CPUs has done, as --interference takes it with every
//                sample: time in proportion to the CPUs, so each costs the same ("a CPU").

#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "experiments/hosts/process_host.h"
#include "experiments/hosts/process_tree.h"
#include "experiments/os/foreign_load.h"
#include "experiments/os/realtime.h"
#include "tests/experiments/hosts/fake_tenant.h"
#include "tests/experiments/hosts/no_adoption_scope.h"

namespace cosched {
namespace {

constexpr Duration kPeriod = std::chrono::milliseconds(100);

Duration CpuTimeOfThisThread() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// False if one of them does not come up.
bool StartTenants(int count, int threads_each, Elasticity elasticity, const Topology& topology,
                  ProcessHost* host) {
  const CpuSet cores =
      elasticity == Elasticity::kRigid ? topology.Cpus() : CpuSet{topology.Cpus().First()};
  const Split threads{1, elasticity == Elasticity::kRigid ? threads_each : 1};
  for (int i = 1; i <= count; ++i) {
    Job job;
    job.id = JobId{i};
    job.request = {1, threads_each, threads_each};
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

// Until files are open and all that is read in turns has been read.
void WarmUp(ProcessHost* host) {
  for (int i = 0; i < 40; ++i) host->Sample();
}

void Sample(benchmark::State& state, Elasticity elasticity) {
  const RealtimeScope realtime;  // As the harness has it.
  const Topology topology = Topology::ThisMachine();
  ProcessHost host({.binary = "/proc/self/exe", .log_directory = {}, .topology = topology});
  if (!StartTenants(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), elasticity,
                    topology, &host)) {
    state.SkipWithError("the tenants do not start");
    return;
  }
  WarmUp(&host);
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

// Until `end`, and all that there is to do till then.
void AwaitEvents(ProcessHost* host, TimePoint end) {
  while (host->GetClock().Now() < end) host->NextEvent(end);
}

void Supervise(benchmark::State& state) {
  const RealtimeScope realtime;
  const Topology topology = Topology::ThisMachine();
  ProcessHost host({.binary = "/proc/self/exe", .log_directory = {}, .topology = topology});
  if (!StartTenants(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
                    Elasticity::kMalleable, topology, &host)) {
    state.SkipWithError("the tenants do not start");
    return;
  }
  WarmUp(&host);
  Duration spent{0}, passed{0};
  for (auto _ : state) {
    const Duration before = CpuTimeOfThisThread();
    const TimePoint begin = host.GetClock().Now();
    AwaitEvents(&host, begin + kPeriod);
    benchmark::DoNotOptimize(host.Sample());
    const Duration taken = CpuTimeOfThisThread() - before;
    passed += host.GetClock().Now() - begin;
    spent += taken;
    state.SetIterationTime(ToSeconds(taken));
  }
  state.counters["core %"] = 100 * ToSeconds(spent) / ToSeconds(passed);
}

// Processes of somebody else's, while it lives.
class Neighbours {
 public:
  explicit Neighbours(int count) {
    const testing::NoAdoptionScope elsewhere;
    first_ = fork();
    if (first_ == 0) {
      setpgid(0, 0);
      for (int i = 0; i < count && fork() != 0; ++i) continue;
      while (true) pause();
    }
    setpgid(first_, first_);
  }
  ~Neighbours() {
    const testing::NoAdoptionScope elsewhere;
    kill(-first_, SIGKILL);
    waitpid(first_, nullptr, 0);
  }

 private:
  pid_t first_;
};

class NobodysKeeper final : public ChildKeeper {
 public:
  bool Knows(pid_t) const override { return false; }
  void Reap(UniqueFd) override {}
};

void Leave(benchmark::State& state, bool adopts) {
  std::optional<testing::NoAdoptionScope> nobody;
  AdoptOrphans();
  if (!adopts) nobody.emplace();
  const Neighbours neighbours(static_cast<int>(state.range(0)));
  std::this_thread::sleep_for(kPeriod);  // Till they are all there.
  const std::string mark = NewTenantMark();
  NobodysKeeper keeper;
  for (auto _ : state) KillLeftBehind(getpid(), mark, &keeper);
}

BENCHMARK_CAPTURE(Sample, all_run, Elasticity::kRigid)
    ->ArgsProduct({{1, 4, 16}, {8}})
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Sample, one_runs, Elasticity::kMalleable)
    ->ArgsProduct({{1, 4, 16}, {8}})
    ->Args({64, 8})
    ->Args({64, 64})
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(Supervise)
    ->Args({1, 8})
    ->Args({1, 64})
    ->Args({64, 8})
    ->Args({64, 64})
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Leave, adopting, true)->Arg(0)->Arg(500)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Leave, scanning, false)->Arg(0)->Arg(500)->Unit(benchmark::kMicrosecond);

void BusyTimesOfAMachine(benchmark::State& state) {
  const int cpus = static_cast<int>(state.range(0));
  std::string proc_stat = "cpu  1 2 3 4 5 6 7 8 0 0\n";
  for (int cpu = 0; cpu < cpus; ++cpu)
    proc_stat += "cpu" + std::to_string(cpu) + " 123456 789 45678 9012345 678 901 234 56 0 0\n";
  proc_stat += "intr 1\n";
  const CpuSet all = CpuSet::Range(0, cpus - 1);
  for (auto _ : state) benchmark::DoNotOptimize(BusyTimes(proc_stat, all, 100));
  state.counters["a CPU"] = benchmark::Counter(
      cpus, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BusyTimesOfAMachine)
    ->Name("BusyTimes")
    ->RangeMultiplier(4)
    ->Range(8, 512)
    ->ArgName("cpus")
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cosched
