// What the library costs that makes OpenMP programs follow their grants
// (experiments/client/cosched_openmp.c) while nothing is granted anew: CPU time of a program with it,
// by that of the same program without it before and after; the median of 15 such turns. `again`: the
// one after by the one before, which is what the machine itself does. `regions` are 0.7 us each, of
// one thread, all of which is entry and exit; those of `stencil` 0.1 ms; `blas` calls OpenBLAS or BLIS,
// whichever the system has, for 0.3 ms and less. The bound is 1.01 for the last two.
//
//   bench_openmp_client

#include <benchmark/benchmark.h>
#include <poll.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "experiments/tenant/client_page.h"
#include "experiments/tenant/steered_program.h"
#include "tests/bench/quantile.h"
#include "tests/paths.h"

namespace cosched {
namespace {

constexpr int kTurns = 15;

double ChildrensTime() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// CPU time of the program. Null: without the library.
double TimeOf(const std::vector<std::string>& arguments, ClientPage* page) {
  ProgramStart start;
  start.arguments = arguments;
  start.environment = {"OMP_NUM_THREADS=1"};
  start.reads_output = true;
  if (page != nullptr) {
    page->Grant(1, {0});
    start.environment.push_back(page->Variable());
    start.environment.push_back("LD_PRELOAD=" + InBuild(COSCHED_OPENMP_LIBRARY));
    start.inherited.push_back(page->fd());
  }
  const double before = ChildrensTime();
  SteeredProgram program(start);
  pollfd end{program.pidfd(), POLLIN, 0};
  while (!program.Ended()) poll(&end, 1, -1);
  program.KillRest();
  return ChildrensTime() - before;
}

void Compare(benchmark::State& state, const std::vector<std::string>& arguments) {
  std::vector<double> ratios, again, alone;
  for ([[maybe_unused]] const auto iteration : state) {
    for (int i = 0; i < kTurns; ++i) {
      ClientPage page;
      const double before = TimeOf(arguments, nullptr);
      const double with = TimeOf(arguments, &page);
      const double after = TimeOf(arguments, nullptr);
      alone.insert(alone.end(), {before, after});
      ratios.push_back(2 * with / (before + after));
      again.push_back(after / before);
      if (page.Read().regions == 0) state.SkipWithError("the library was not loaded");
    }
  }
  state.counters["alone_s"] = Quantile(alone, 0.5);
  state.counters["again"] = Quantile(again, 0.5);
  state.counters["ratio"] = Quantile(ratios, 0.5);
}

BENCHMARK_CAPTURE(Compare, regions,
                  std::vector<std::string>{InBuild(COSCHED_OPENMP_PROGRAM), "plain", "1000000"})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(Compare, stencil,
                  std::vector<std::string>{InBuild(COSCHED_STENCIL), "--size", "300", "--sweeps",
                                           "10000"})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

#ifdef COSCHED_BLAS_PROGRAM
BENCHMARK_CAPTURE(Compare, blas,
                  std::vector<std::string>{InBuild(COSCHED_BLAS_PROGRAM), "plain", "5000"})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
#endif

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
