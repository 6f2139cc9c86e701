// How fast the simulator is.
//
//   whole_path/POLICY/N   experiments/examples/million_jobs.toml with N jobs as `cosched run` does
//                         it: draw the trace, simulate, write jobs.csv, summarize. In a process of
//                         its own, whose largest memory is peak_MB. The targets for a million are
//                         4 s under strict and 8 s under equal-share.
//   ten_million/POLICY/N  the same; its target is 500 MB.
//   event/N               one event of arbiter, policy (strict), simulated host and records while N
//                         jobs are in flight, most of them waiting: as one ends, the next arrives.
//   event_running/N       the same with N cores and N running jobs of one core each, none waiting.
//   executions/N          the simulator's core by itself: N executions share 64 cores fairly, as
//                         one completes the next begins. sg_executions/N (with SimGrid, see
//                         CMakeLists.txt): the same in SimGrid, the same works in the same order.
//
// Run by hand: bench_simulator --benchmark_filter=whole_path (or event, or executions).

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "engine/base/random.h"
#include "experiments/analysis/metrics.h"
#include "experiments/harness/harness.h"
#include "experiments/hosts/simulation/simulated_host.h"
#include "experiments/os/scratch_folder.h"
#include "tests/bench/execution_stream.h"
#include "tests/paths.h"

namespace cosched {
namespace {

const std::string kExperiment = InSource("experiments/examples/million_jobs.toml");

ExperimentConfig Load(const std::string& policy, int64_t jobs) {
  return LoadConfig(kExperiment,
                    {"policies=['" + policy + "']", "trace.jobs=" + std::to_string(jobs)},
                    Topology::ThisMachine());
}

// In a child: its exit status says whether all jobs finished.
int RunWhole(const std::string& policy, int64_t jobs, const std::filesystem::path& run) {
  const ExperimentConfig config = Load(policy, jobs);
  const Plan plan = MakePlan(config);
  RunCells(config, plan, plan.cells,
           {.run = run, .topology = *config.topology, .hosts = SimulatedHosts(config)});
  const CellSummary summary = Summarize(run, plan.cells.front());
  return summary.finished == jobs ? 0 : 1;
}

void WholePath(benchmark::State& state, const std::string& policy) {
  const int64_t jobs = state.range(0);
  for (auto _ : state) {
    const ScratchFolder folder;
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child == 0) _exit(RunWhole(policy, jobs, folder.path()));
    int status = 0;
    rusage usage = {};
    wait4(child, &status, 0, &usage);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (status != 0) return state.SkipWithError("not all jobs finished");
    state.SetIterationTime(took.count());
    state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
    state.counters["us_per_job"] = took.count() * 1e6 / static_cast<double>(jobs);
  }
}
BENCHMARK_CAPTURE(WholePath, strict, "strict")
    ->Name("whole_path/strict")
    ->Arg(20'000)
    ->Arg(200'000)
    ->Arg(1'000'000)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(WholePath, equal_share, "equal-share")
    ->Name("whole_path/equal-share")
    ->Arg(20'000)
    ->Arg(200'000)
    ->Arg(1'000'000)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(WholePath, ten_million, "strict")
    ->Name("ten_million/strict")
    ->Arg(10'000'000)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(WholePath, max_prop, "max-prop")
    ->Name("whole_path/max-prop")
    ->Arg(1'000'000)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(WholePath, always_attend, "always-attend")
    ->Name("whole_path/always-attend")
    ->Arg(1'000'000)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);

// Keeps a number of jobs in flight: the harness's loop without a trace.
class ClosedSystem {
 public:
  ClosedSystem(const ExperimentConfig& config, const std::filesystem::path& run)
      : plan_(MakePlan(config)),
        jobs_(config, Elasticity::kMalleable, 1),
        policy_(config.NewPolicy(config.policies.front())),
        records_(run, plan_.cells.front(), config.cores, config.records, size_t{1} << 16),
        host_(SimulatedHosts(config).make_host("", false)),
        arbiter_(*policy_, false, *host_, *config.topology, config.cores, records_, false) {}

  void Submit() {
    const JobArrival arrival = plan_.traces[0][static_cast<size_t>(next_) % plan_.traces[0].size()];
    Job job = jobs_.JobOf(arrival, next_);
    job.arrival.reset();  // The job comes when one ends, whatever the trace says.
    host_->Describe(job.id, jobs_.SpecOf(arrival, next_));
    ++next_;
    arbiter_.Submit(job);
  }

  void HandleOne() {
    const std::optional<HostEvent> event = host_->NextEvent(TimePoint::max());
    host_->TakeResizes();
    arbiter_.Handle(*event);
    if (!std::holds_alternative<HostSettled>(*event)) Submit();
  }

 private:
  const Plan plan_;
  CellJobs jobs_;
  std::unique_ptr<Policy> policy_;
  CellRecords records_;
  std::unique_ptr<ObservedHost> host_;
  Arbiter arbiter_;
  int64_t next_ = 0;
};

void OneEvent(benchmark::State& state) {
  const ScratchFolder folder;
  const ExperimentConfig config = Load("strict", 1000);
  ClosedSystem system(config, folder.path());
  for (int64_t i = 0; i < state.range(0); ++i) system.Submit();
  for (auto _ : state) system.HandleOne();
}
BENCHMARK(OneEvent)->Name("event")->RangeMultiplier(10)->Range(100, 100'000);

// 64 cores a package, 16 an L3.
void OneEventOfMany(benchmark::State& state) {
  const ScratchFolder folder;
  const int64_t cores = state.range(0);
  const std::string topology =
      "machine.topology='pack:" + std::to_string(cores / 64) + " [numa] l3:4 core:16 pu:1'";
  const ExperimentConfig config = LoadConfig(
      kExperiment,
      {"policies=['strict']", "trace.jobs=1000", topology, "simulation.extrapolate=true",
       "workload.0.cores={min=1,preferred=1,max=1}", "workload.1.cores={min=1,preferred=1,max=1}"},
      Topology::ThisMachine());
  ClosedSystem system(config, folder.path());
  for (int64_t i = 0; i < cores; ++i) system.Submit();
  for (auto _ : state) system.HandleOne();
}
BENCHMARK(OneEventOfMany)->Name("event_running")->RangeMultiplier(4)->Range(64, 4096);

void OurExecutions(benchmark::State& state) {
  ExecutionStream stream(static_cast<int>(state.range(0)));
  for (auto _ : state) stream.Next();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OurExecutions)->Name("executions")->Arg(64)->Arg(1024)->Arg(10'000)->Arg(100'000);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
