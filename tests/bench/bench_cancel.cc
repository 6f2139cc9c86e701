// How long a request that is cancelled goes on: from Cancel() to its answer, when all that it held is
// free again. Every thread is in a call of it at that time, and leaves at the end of its piece.
//
//   align_sort/CHUNK   reads of 101 bases to a genome of a million, chunks of so many reads
//   classify/MODEL     images of 640 x 480; 0: lenet5, 1: mobilenet_v2
//
// The time is the mean; counters are the median and the longest one, in ms. Run by hand: bench_cancel

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "tests/bench/quantile.h"
#include "tests/workloads/genomics/generated_reads.h"
#include "tests/workloads/pipelines/started_pipeline.h"
#include "tests/workloads/temporary_folder.h"
#include "workloads/pipelines/align_sort.h"
#include "workloads/pipelines/classify.h"

namespace cosched {
namespace {

constexpr Split kLanes = {2, 1};

// Each after another part of its work. `done`: what the request is counted by.
void Measure(benchmark::State& state, PipelineProgram program, const std::atomic<int64_t>& done,
             int64_t most_done) {
  StartedPipeline run(std::move(program), kLanes);
  Random random(3);
  std::vector<double> times;
  int64_t number = 0;
  for (auto _ : state) {
    const int64_t until =
        done + static_cast<int64_t>(random.Below(static_cast<uint64_t>(most_done)));
    run.Submit(++number);
    while (done < until) std::this_thread::sleep_for(std::chrono::microseconds(100));
    const auto begin = std::chrono::steady_clock::now();
    run.pipeline().Cancel(number, "measured");
    const PipelineResult result = run.Await(number);
    const double seconds = std::chrono::duration<double>(result.ended - begin).count();
    if (result.answer.status != PipelineAnswer::Status::kCancelled) {
      state.SkipWithError("it was over before it was cancelled");
      return;
    }
    state.SetIterationTime(seconds);
    times.push_back(seconds * 1e3);
  }
  std::ranges::sort(times);
  state.counters["median_ms"] = Quantile(times, 0.5);
  state.counters["longest_ms"] = times.back();
}

void CancelAlignSort(benchmark::State& state) {
  constexpr int kReads = 100'000;
  const TemporaryFolder folder;
  Random random(1);
  ReferenceGenome genome;
  genome.sequences = {{"random", 1'000'000}};
  genome.bases = {RandomBases(1'000'000, &random)};
  folder.Write("genome.fa", Fasta(genome));
  ReadGenerator generator(&genome, &random);
  folder.Write("reads.fq", generator.Singles(kReads));
  const auto progress = std::make_shared<AlignSortProgress>();
  Measure(state,
          MakeAlignSort({.reference = folder.PathOf("genome.fa"),
                         .reads = {{folder.PathOf("reads.fq")}},
                         .chunk_reads = state.range(0),
                         .threads = kLanes.inter,
                         .progress = progress}),
          progress->reads_aligned, kReads / 2);
}
BENCHMARK(CancelAlignSort)
    ->Name("align_sort")
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->UseManualTime()
    ->Iterations(40)
    ->Unit(benchmark::kMillisecond);

void CancelClassify(benchmark::State& state) {
  const auto progress = std::make_shared<ClassifyProgress>();
  Measure(state,
          MakeClassify({.model = state.range(0) == 0 ? "lenet5" : "mobilenet_v2",
                        .items = 100'000,
                        .threads = kLanes.inter,
                        .progress = progress})
              .program,
          progress->images_classified, 40);
}
BENCHMARK(CancelClassify)
    ->Name("classify")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Iterations(40)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
