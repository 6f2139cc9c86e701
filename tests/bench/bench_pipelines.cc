// How fast pipelines are simulated: calls of stages in a second of this machine's.
//
//   row/STAGES/OPEN       requests of one item through stages of one call each, with that many
//                         requests inside.
//   chunks/ITEMS/OPEN     requests of that many items, cut into partitions of 10, through three
//                         stages of several calls, and joined.
//   cluster/MACHINES      the same with 200 items, on that many machines of 4 cores.
//
// Run by hand: bench_pipelines

#include <benchmark/benchmark.h>

#include <string>

#include "experiments/hosts/simulation/pipeline_cluster.h"
#include "experiments/hosts/simulation/pipeline_model.h"

namespace cosched {
namespace {

StageSpec Stage(const std::string& name, int parallel) {
  StageSpec stage;
  stage.name = stage.from.name = name;
  stage.parallel = parallel;
  return stage;
}

// Keeps a few more than `open` requests under way until so many have ended.
template <typename Model>
int64_t Run(Model* model, int open, int64_t requests, int64_t items) {
  int64_t submitted = 0, ended = 0;
  TimePoint now;
  while (ended < requests) {
    while (submitted < requests && submitted < ended + open + 2) {
      model->Submit(submitted++, items, now);
    }
    now = *model->NextEvent();
    model->Advance(now);
    ended += static_cast<int64_t>(model->Take().size());
  }
  int64_t calls = 0;
  for (const PipelineSample::Stage& stage : model->Sample().stages) calls += stage.calls;
  return calls;
}

void Tell(benchmark::State& state, int64_t calls) {
  state.counters["calls"] =
      benchmark::Counter(static_cast<double>(calls), benchmark::Counter::kIsRate);
}

void Row(benchmark::State& state) {
  PipelineModel::Settings settings;
  const auto stages = static_cast<int>(state.range(0)), open = static_cast<int>(state.range(1));
  for (int stage = 0; stage < stages; ++stage) {
    settings.spec.stages.push_back(Stage("s" + std::to_string(stage), 1));
    settings.costs.push_back(
        {.per_item_s = 0.01, .distribution = StageCost::Distribution::kExponential});
  }
  settings.spec.open = settings.spec.open_max = open;
  int64_t calls = 0;
  for (auto _ : state) {
    PipelineModel model(settings);
    model.Resize(stages, {stages, 1}, {});
    calls += Run(&model, open, 20'000, 1);
  }
  Tell(state, calls);
}
BENCHMARK(Row)->Name("row")->ArgsProduct({{1, 3, 10}, {1, 4, 16}})->Unit(benchmark::kMillisecond);

PipelineModel::Settings Chunked(int open) {
  PipelineModel::Settings settings;
  settings.spec.stages = {Stage("fetch", 4), Stage("align", 0), Stage("sort", 0),
                          Stage("merge", 0)};
  StageSpec& fetch = settings.spec.stages[0];
  fetch.waits = fetch.emits_many = true;
  fetch.from.hands = Gate::Hands::kPartition;
  fetch.from.batch = 10;
  fetch.inner_open = 4;
  settings.spec.stages[2].from.hands = Gate::Hands::kWhole;
  settings.spec.stages[3].from.hands = Gate::Hands::kWhole;
  settings.spec.stages[3].joins = 1;
  settings.spec.open = settings.spec.open_max = open;
  for (const double seconds : {0.002, 0.03, 0.002, 0.001}) {
    settings.costs.push_back({.per_item_s = seconds, .law = {.parameters = {0.05}}, .noise = 0.1});
  }
  return settings;
}

void Chunks(benchmark::State& state) {
  const int64_t items = state.range(0);
  const auto open = static_cast<int>(state.range(1));
  int64_t calls = 0;
  for (auto _ : state) {
    PipelineModel model(Chunked(open));
    model.Resize(4, {3, 2}, {});
    calls += Run(&model, open, 20'000 / items, items);
  }
  Tell(state, calls);
}
BENCHMARK(Chunks)
    ->Name("chunks")
    ->ArgsProduct({{10, 200, 2000}, {1, 4}})
    ->Unit(benchmark::kMillisecond);

void Cluster(benchmark::State& state) {
  const auto machines = static_cast<int>(state.range(0));
  int64_t calls = 0;
  for (auto _ : state) {
    PipelineCluster cluster(Chunked(4),
                            {.groups = {{.count = machines, .cores = 4}}, .link_latency_s = 1e-4});
    calls += Run(&cluster, 4, 500, 200);
  }
  Tell(state, calls);
}
BENCHMARK(Cluster)->Name("cluster")->Arg(1)->Arg(5)->Arg(20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
