// The same as stencil.c on oneTBB, whose threads follow their grant in three lines: an example of a
// program with the client library. On a grant the arena of its loops becomes another one; oneTBB's
// threads stay for life, and sleep where there are too many. Prints what stencil.c prints, the same
// bits. g++ -O2 -I ROOT stencil_tbb.cc ROOT/build/libcosched_client.so -Wl,-rpath,ROOT/build -ltbb
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "experiments/client/cosched_client.h"

namespace {

long Option(int argc, char** argv, const char* name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return std::atol(argv[i + 1]);
  return otherwise;
}

void Sweep(const std::vector<double>& now, std::vector<double>& next, long size) {
  tbb::parallel_for(
      tbb::blocked_range<long>(1, size - 1), [&](const tbb::blocked_range<long>& rows) {
        for (long row = rows.begin(); row < rows.end(); ++row) {
          for (long column = 1; column < size - 1; ++column) {
            const long at = row * size + column;
            next[at] = 0.25 * (now[at - 1] + now[at + 1] + now[at - size] + now[at + size]);
          }
        }
      });
}

}  // namespace

int main(int argc, char** argv) {
  const long size = Option(argc, argv, "--size", 1000), every = Option(argc, argv, "--every", 10),
             sweeps = Option(argc, argv, "--sweeps", every * Option(argc, argv, "--lines", 50));
  if (size < 3) return 1;
  // oneTBB has as many threads as there were cores at its start, unless it is told to have more.
  const char* const variable = std::getenv("OMP_NUM_THREADS");
  const int threads_at_start =
      variable == nullptr ? tbb::info::default_concurrency() : std::atoi(variable);
  const int most_threads = 256;
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, most_threads);
  auto arena = std::make_unique<tbb::task_arena>(threads_at_start);
  std::vector<double> now(static_cast<size_t>(size * size)), next(now.size());
  for (long i = 0; i < size; ++i) now[i] = next[i] = 100;  // A hot edge.
  cosched_client* const client = cosched_connect();
  for (long sweep = 1; sweep <= sweeps; ++sweep) {
    if (const int threads = cosched_poll(client); threads > 0)
      arena = std::make_unique<tbb::task_arena>(threads);
    arena->execute([&] { Sweep(now, next, size); });
    now.swap(next);
    cosched_step(client, 0);
    if (sweep % every == 0) {
      std::printf("sweep %ld\n", sweep);
      std::fflush(stdout);
    }
  }
  double sum = 0;
  for (const double value : now) sum += value;
  std::printf("sum %.17g\n", sum);
  cosched_close(client);
}
