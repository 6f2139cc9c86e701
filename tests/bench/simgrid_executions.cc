// SimGrid beside bench_simulator's `executions`: the same works in the same order, as many actors
// as there are executions in flight, on one host of 64 cores that they share fairly. SimGrid keeps
// its engine for the life of a process, so each measurement has a process of its own; its start and
// the making of the actors are not counted. Built only where libsimgrid-dev is installed.

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <simgrid/s4u.hpp>

#include "tests/bench/execution_stream.h"

namespace cosched {
namespace {

constexpr double kSpeed = 1e9;  // Work of a second on one core.

// Seconds that so many completions take, after as many executions as are in flight have begun.
double Simulate(int in_flight, int64_t completions) {
  char name[] = "bench_simulator";
  char* arguments[] = {name, nullptr};
  int count = 1;
  simgrid::s4u::Engine engine(&count, arguments);
  simgrid::s4u::NetZone* zone = simgrid::s4u::create_full_zone("zone");
  simgrid::s4u::Host* host = zone->create_host("machine", kSpeed)->set_core_count(kStreamCores);
  zone->seal();
  Works works;
  int64_t done = 0;
  for (int i = 0; i < in_flight; ++i) {
    simgrid::s4u::Actor::create("execution", host, [&] {
      while (done < completions) {
        simgrid::s4u::this_actor::execute(works.Next() * kSpeed);
        ++done;
      }
    });
  }
  const auto start = std::chrono::steady_clock::now();
  engine.run();
  // Those in flight at the end complete too.
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count() * static_cast<double>(completions) / static_cast<double>(done);
}

void SimGridExecutions(benchmark::State& state) {
  const auto in_flight = static_cast<int>(state.range(0));
  const int64_t completions = state.range(1);
  for (auto _ : state) {
    int ends[2];
    if (pipe(ends) != 0) return state.SkipWithError("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      const double seconds = Simulate(in_flight, completions);
      _exit(write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 1);
    }
    close(ends[1]);
    double seconds = 0;
    const bool told = read(ends[0], &seconds, sizeof seconds) == sizeof seconds;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (!told) return state.SkipWithError("SimGrid ended without a result");
    state.SetIterationTime(seconds);
  }
  state.SetItemsProcessed(state.iterations() * completions);
}
BENCHMARK(SimGridExecutions)
    ->Name("sg_executions")
    ->Args({64, 100'000})
    ->Args({1024, 20'000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace cosched
