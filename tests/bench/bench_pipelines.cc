// How fast pipelines are simulated: calls of stages in a second of this machine's.
//
//   row/STAGES/OPEN       requests of one item through stages of one call each, with that many
//                         requests inside.
//   chunks/ITEMS/OPEN     requests of that many items, cut into partitions of 10, through three
//                         stages of several calls, and joined.
//
// Run by hand: bench_pipelines

#include <benchmark/benchmark.h>

#include <string>

#include "experiments/hosts/simulation/pipeline_model.h"

namespace cosched {
namespace {

StageSpec Stage(const std::string& name, int parallel) {
  StageSpec stage;
  stage.name = stage.from.name = name;
  stage.parallel = parallel;
  return stage;
}

// Keeps `open` requests and a few more under way until so many have ended.
int64_t Run(PipelineModel* model, int64_t requests, int64_t items) {
  const int64_t ahead = model->State().OpenRequests() + 2;
  int64_t submitted = 0, ended = 0;
  TimePoint now;
  while (ended < requests) {
    while (submitted < requests && submitted < ended + ahead) {
      model->Submit(submitted++, items, now);
    }
    now = *model->NextEvent();
    model->Advance(now);
    ended += static_cast<int64_t>(model->Take().size());
  }
  int64_t calls = 0;
  for (const PipelineSample::Stage& stage : model->Sample(now).stages) calls += stage.calls;
  return calls;
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
    calls += Run(&model, 20'000, 1);
  }
  state.counters["calls"] =
      benchmark::Counter(static_cast<double>(calls), benchmark::Counter::kIsRate);
}
BENCHMARK(Row)->Name("row")->ArgsProduct({{1, 3, 10}, {1, 4, 16}})->Unit(benchmark::kMillisecond);

void Chunks(benchmark::State& state) {
  PipelineModel::Settings settings;
  const int64_t items = state.range(0);
  const auto open = static_cast<int>(state.range(1));
  settings.spec.stages = {Stage("fetch", 4), Stage("align", 0), Stage("sort", 0),
                          Stage("merge", 1)};
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
  int64_t calls = 0;
  for (auto _ : state) {
    PipelineModel model(settings);
    model.Resize(4, {3, 2}, {});
    calls += Run(&model, 20'000 / items, items);
  }
  state.counters["calls"] =
      benchmark::Counter(static_cast<double>(calls), benchmark::Counter::kIsRate);
}
BENCHMARK(Chunks)
    ->Name("chunks")
    ->ArgsProduct({{10, 200, 2000}, {1, 4}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
