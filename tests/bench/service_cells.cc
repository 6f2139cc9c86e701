// How fast the simulator is with services, and what their controller costs; part of bench_dispatch.
//
//   requests/NODES/DEVICES    four services with an instance of each on every node of four cores,
//                             beside modelled devices, under ROMA's controller and its choice of
//                             requests, as in experiments/figures/fig_roma_systems.toml but larger.
//                             Items are requests, from the drawn trace to the end of the cell, of
//                             which nothing is recorded. The target is 1 M a second.
//   recorded/NODES/DEVICES    the same as `cosched run` does it: the trace is drawn, requests.csv
//                             and grants.csv are written, and the cell is summarized.
//   tick/POLICY/INSTANCES     one decision of a controller when a window is over, four instances a
//                             node. The target is a p99 of 1 ms with 4,096.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "experiments/analysis/metrics.h"
#include "experiments/harness/harness.h"
#include "experiments/os/scratch_folder.h"
#include "policies/registry.h"
#include "tests/bench/quantile.h"
#include "tests/paths.h"

namespace cosched {
namespace {

constexpr int kCoresOfNode = 4;
constexpr int kServices = 4;
constexpr const char* kModels[kServices] = {"googlenet", "segmenter", "googlenet", "segmenter"};
constexpr double kRequests = 200'000;
// Of 0.095 s a request and core, and 0.018 s a request and device.
constexpr double kLoad = 0.6, kRateOfCore = 1 / 0.095, kRateOfDevice = 1 / 0.018;

std::string ExperimentText(int nodes, int devices, bool recorded) {
  const std::string profiles = InSource("experiments/profiles/");
  std::string text = fmt::format(
      "name = \"service_cells\"\ntrials = 1\nbackend = \"simulated\"\npolicies = [\"roma-ct\"]\n"
      "elasticity = [\"malleable\"]\n"
      "[machine]\ntopology = \"pack:{} [numa] l3:1 core:{} pu:1\"\nnodes = {}\n"
      "profile = \"{}published_roma.json\"\n"
      "[records]\nsamples = false\nsteps = false\ndecisions = false\nresizes = false\n"
      "actuations = false\ntimeline = false\nrequests = {}\ngrants = {}\n"
      "[simulation]\nextrapolate = true\n[services]\nwindow_s = 5\nin_flight = 10\ndispatch = {{ "
      "device = \"h1\" }}\n"
      "[policy.roma-ct]\nleast = 0.5\ngain = 0.17\n",
      nodes, kCoresOfNode, nodes, profiles, recorded, recorded);
  for (int device = 0; device < devices; ++device)
    text +=
        fmt::format("[[device]]\nname = \"device{}\"\nprofile = \"{}device_nv6_published.json\"\n",
                    device, profiles);
  const double rate = kLoad * (nodes * kCoresOfNode * kRateOfCore + devices * kRateOfDevice);
  for (int service = 0; service < kServices; ++service) {
    text += fmt::format(
        "[[workload]]\nname = \"service{}\"\nmodel = \"{}\"\nmode = \"serve\"\nbatch = 1\n"
        "sla_ms = {}\nper_node = true\ncores = {{ min = 1, max = {} }}\n"
        "[[trace.requests]]\nservice = \"service{}\"\n"
        "phases = [ {{ for_s = {:.3f}, rate = {:.3f} }} ]\n",
        service, kModels[service], 350 + 50 * service, kCoresOfNode, service, kRequests / rate,
        rate / kServices);
  }
  return text;
}

ExperimentConfig Load(const std::filesystem::path& folder, benchmark::State& state, bool recorded) {
  const std::filesystem::path file = folder / "service_cells.toml";
  std::ofstream(file) << ExperimentText(static_cast<int>(state.range(0)),
                                        static_cast<int>(state.range(1)), recorded);
  return LoadConfig(file, {}, Topology::ThisMachine());
}

void TimeCell(benchmark::State& state, bool recorded) {
  size_t requests = 0;
  for (auto unused : state) {
    state.PauseTiming();
    const ScratchFolder folder;
    const ExperimentConfig config = Load(folder.path(), state, recorded);
    if (recorded) state.ResumeTiming();
    const Plan plan = MakePlan(config);
    if (!recorded) state.ResumeTiming();
    const HarnessResult result = RunCells(
        config, plan, plan.cells,
        {.run = folder.path(), .topology = *config.topology, .hosts = SimulatedHosts(config)});
    if (recorded) benchmark::DoNotOptimize(Summarize(folder.path(), plan.cells.front()));
    if (result.done != 1) state.SkipWithError("the cell was not done");
    requests += RequestsOf(plan, 0);
  }
  state.SetItemsProcessed(static_cast<int64_t>(requests));
}

void Sizes(benchmark::internal::Benchmark* cell) {
  cell->Args({6, 4})->Args({16, 8})->Args({32, 16})->Args({64, 32});
  cell->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(TimeCell, simulated, false)->Name("requests")->Apply(Sizes);
BENCHMARK_CAPTURE(TimeCell, recorded, true)->Name("recorded")->Apply(Sizes);

// Instances that all answered in the window, by their own number.
MachineView ControlledMachine(const Topology& topology, int instances) {
  MachineView view;
  view.topology = &topology;
  view.cores = topology.Cpus();
  for (int node = 0; node < instances / kServices; ++node)
    view.nodes.push_back(
        CpuSet::Range(node * kCoresOfNode, node * kCoresOfNode + kCoresOfNode - 1));
  for (int service = 0; service < kServices; ++service)
    view.services.push_back({.id = {service},
                             .name = fmt::format("service{}", service),
                             .objective = std::chrono::milliseconds(400),
                             .length = std::chrono::seconds(5),
                             .servers = {}});
  for (int id = 0; id < instances; ++id) {
    JobView job;
    job.id = {id};
    job.request = {.min = 1, .preferred = kCoresOfNode, .max = kCoresOfNode};
    job.service = ServiceId{id % kServices};
    job.state = JobState::kRunning;
    job.node = id / kServices;
    job.cores = view.nodes[static_cast<size_t>(id / kServices)];
    job.amount = CpuShare::OfCores(1);
    view.jobs.Add(job);
    view.services[static_cast<size_t>(id % kServices)].servers.emplace_back(job.id, ServerWindow());
  }
  return view;
}

void TimeTick(benchmark::State& state, const char* name) {
  const auto instances = static_cast<int>(state.range(0));
  const Topology topology = Topology::Synthetic(
      fmt::format("pack:{} [numa] l3:1 core:{} pu:1", instances / kServices, kCoresOfNode));
  MachineView view = ControlledMachine(topology, instances);
  const std::unique_ptr<Policy> policy = MakePolicy(*FindPolicy(name), {});
  Random random(1);
  std::vector<double> micros;
  for (auto unused : state) {
    for (ServiceView& service : view.services) {
      for (auto& [server, window] : service.servers)
        window = {.dispatched = 20,
                  .answered = 20,
                  .in_flight = 2,
                  .mean_response = std::chrono::milliseconds(200 + random.Below(400))};
    }
    const auto start = std::chrono::steady_clock::now();
    const Allocation allocation = policy->Decide(view, WindowOver());
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    benchmark::DoNotOptimize(allocation);
    micros.push_back(took.count());
    state.SetIterationTime(took.count() * 1e-6);
  }
  state.counters["p50_us"] = Quantile(micros, 0.5);
  state.counters["p99_us"] = Quantile(micros, 0.99);
}
#define COSCHED_BENCH_TICK(name, text)    \
  BENCHMARK_CAPTURE(TimeTick, name, text) \
      ->Name("tick/" text)                \
      ->Arg(256)                          \
      ->Arg(1024)                         \
      ->Arg(4096)                         \
      ->UseManualTime()                   \
      ->Iterations(1000)                  \
      ->Unit(benchmark::kMicrosecond)
COSCHED_BENCH_TICK(roma_ct, "roma-ct");
COSCHED_BENCH_TICK(roma_ct2, "roma-ct2");
COSCHED_BENCH_TICK(roma_rules, "roma-rules");

}  // namespace
}  // namespace cosched
