// What one decision costs a policy on a large machine: 4096 cores, 1024 running jobs, and the event
// after which it divides most. p50 and p99 of Policy::Decide alone, in microseconds, over many
// decisions, by the clock and (p99) by the thread's CPU time, which other programs on the machine
// do not lengthen. The arbiter's placement and the view's upkeep are not in it.

#include <benchmark/benchmark.h>
#include <time.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "engine/base/check.h"
#include "policies/registry.h"
#include "tests/bench/quantile.h"

namespace cosched {
namespace {

constexpr int kJobs = 1024;
constexpr int kCores = 4096;

// Every job runs on `held` cores and might have 16; one has just ended, and one waits.
MachineView LargeMachine(const Topology& topology, int held) {
  MachineView view;
  view.topology = &topology;
  view.cores = topology.Cpus();
  view.progress_of = [](JobId job) { return static_cast<double>(job.value % 100) / 100; };
  std::vector<std::shared_ptr<const SpeedCurve>> curves;
  for (int curve = 1; curve <= 8; ++curve) {
    std::vector<double> speeds;
    for (int k = 1; k <= 64; ++k) speeds.push_back(std::pow(k, curve / 9.0));
    curves.push_back(std::make_shared<SpeedCurve>(std::move(speeds)));
  }
  for (int id = 0; id <= kJobs; ++id) {
    JobView job;
    job.id = {id};
    job.request = {.min = 1, .preferred = 4, .max = 16};
    job.steps = 100 + id % 37;
    job.speed = curves[static_cast<size_t>(id) % curves.size()];
    if (id < kJobs) {
      job.state = JobState::kRunning;
      job.started = TimePoint(Duration(id));
      job.cores = CpuSet::Range(id * held, id * held + held - 1);
    }
    view.jobs.Add(job);
  }
  return view;
}

double CpuMicros() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

void BM_Decision(benchmark::State& state, const char* name) {
  const Topology topology = Topology::Synthetic("pack:8 [numa] l3:8 core:64 pu:1");
  CHECK(topology.Cpus().Count() == kCores) << topology.Cpus().Count();
  const MachineView view = LargeMachine(topology, static_cast<int>(state.range(0)));
  const std::unique_ptr<Policy> policy = MakePolicy(*FindPolicy(name), {});
  std::vector<double> micros, cpu_micros;
  for (auto unused : state) {
    const double cpu_start = CpuMicros();
    const auto start = std::chrono::steady_clock::now();
    Allocation allocation = policy->Decide(view, JobFinished{{kJobs + 1}});
    const auto took = std::chrono::steady_clock::now() - start;
    cpu_micros.push_back(CpuMicros() - cpu_start);
    benchmark::DoNotOptimize(allocation);
    micros.push_back(std::chrono::duration<double, std::micro>(took).count());
    state.SetIterationTime(micros.back() * 1e-6);
  }
  state.counters["p50_us"] = Quantile(micros, 0.5);
  state.counters["p99_us"] = Quantile(micros, 0.99);
  state.counters["cpu_p99_us"] = Quantile(cpu_micros, 0.99);
}

// 3 cores each leave 1024 to divide; with 1 each, all is to be divided anew.
#define COSCHED_BENCH_DECISION(name, text) \
  BENCHMARK_CAPTURE(BM_Decision, name, text)->Arg(1)->Arg(3)->UseManualTime()->Iterations(2000)

COSCHED_BENCH_DECISION(equal_share, "equal-share");
COSCHED_BENCH_DECISION(max_prop, "max-prop");
COSCHED_BENCH_DECISION(marginal_speedup, "marginal-speedup");
COSCHED_BENCH_DECISION(lend_reclaim, "lend-reclaim");
COSCHED_BENCH_DECISION(srpt, "srpt");
COSCHED_BENCH_DECISION(hesrpt, "hesrpt");

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
