// How fast arrivals are generated, in arrivals/s on one core, beside what a C++ program would take
// without cosched: std::exponential_distribution over std::mt19937_64, summed to whole nanoseconds.
// BM_Poisson is the process alone; BM_Trace is the whole arrival, as describe and convert get it.

#include <benchmark/benchmark.h>

#include <random>

#include "traces/generators/generated_trace.h"

namespace cosched {
namespace {

constexpr double kMeanSeconds = 1e-6;

void Report(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations());  // items_per_second = arrivals/s
}

void BM_StandardLibrary(benchmark::State& state) {
  std::mt19937_64 engine(1);
  std::exponential_distribution<double> gap(1 / kMeanSeconds);
  double seconds = 0;
  for (auto unused : state) {
    seconds += gap(engine);
    benchmark::DoNotOptimize(FromSeconds(seconds));
  }
  Report(state);
}
BENCHMARK(BM_StandardLibrary);

void BM_Poisson(benchmark::State& state) {
  const auto process = MakeProcess(RenewalSpec{{.mean = kMeanSeconds}}, Random(1));
  ProcessArrival arrival;
  for (auto unused : state) {
    process->Next(&arrival);
    benchmark::DoNotOptimize(arrival);
  }
  Report(state);
}
BENCHMARK(BM_Poisson);

RenewalSpec Gaps(Distribution::Kind kind) {
  return {{.kind = kind, .mean = kMeanSeconds, .sd = kMeanSeconds / 4, .cv = 2, .shape = 2.5}};
}

void BM_Trace(benchmark::State& state, const ProcessSpec& process, int copies) {
  GeneratorSpec generator;
  generator.process = process;
  generator.tenant.assign(1, 'a');
  generator.cells.emplace_back("b");
  std::vector<GeneratorSpec> generators(static_cast<size_t>(copies), generator);
  GeneratedTrace trace({"workload"}, std::move(generators), {}, 1);
  Arrival arrival;
  for (auto unused : state) {
    if (!trace.Next(&arrival)) state.SkipWithError("the trace ended");
    benchmark::DoNotOptimize(arrival);
  }
  Report(state);
}

using Kind = Distribution::Kind;
BENCHMARK_CAPTURE(BM_Trace, poisson, Gaps(Kind::kExponential), 1);
BENCHMARK_CAPTURE(BM_Trace, poisson_8_tenants, Gaps(Kind::kExponential), 8);
BENCHMARK_CAPTURE(BM_Trace, normal, Gaps(Kind::kNormal), 1);
BENCHMARK_CAPTURE(BM_Trace, gamma, Gaps(Kind::kGamma), 1);
BENCHMARK_CAPTURE(BM_Trace, weibull, Gaps(Kind::kWeibull), 1);
BENCHMARK_CAPTURE(BM_Trace, pareto, Gaps(Kind::kPareto), 1);
BENCHMARK_CAPTURE(BM_Trace, mmpp, MmppSpec{{{1e6, 1}, {1e5, 2}}, {}}, 1);
BENCHMARK_CAPTURE(BM_Trace, diurnal,
                  DiurnalSpec{{.shape = RateFunction::Shape::kSine,
                               .period_s = 60,
                               .points = {},
                               .mean_per_s = 1e6,
                               .amplitude_per_s = 8e5}},
                  1);
BENCHMARK_CAPTURE(BM_Trace, closed_loop_100_users,
                  ClosedLoopSpec{100, {.mean = 1e-4}, {.mean = 1e-3}}, 1);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
