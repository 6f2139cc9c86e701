// What each part of aligning and sorting reads costs, in µs a read on one thread (workloads/genomics),
// and all of it beside the programs that it replaces, `minimap2 -t1 -ax sr | samtools sort -@0`, on the
// same reads: mates of 101 bases, packed, drawn from a seed out of E. coli 536 (Debian:
// bowtie-examples) or, where it is not installed, out of a random genome of that size. Real time; the
// counter cpu_us is that of all processes and threads. Google Benchmark's --benchmark_repetitions=5
// gives medians, --benchmark_enable_random_interleaving=true takes the machine's moods out of ratios.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>

#include "tests/bench/coli_reads.h"
#include "tests/bench/processor_time.h"
#include "tests/workloads/genomics/align_sort.h"
#include "tests/workloads/temporary_folder.h"

namespace cosched {
namespace {

constexpr size_t kChunkReads = 10'000;

// The files that both sides read, and what each part has from the one before it.
struct Inputs {
  Inputs(const ReferenceGenome& genome, int64_t reads) {
    WriteColiReads(genome, reads, folder);
    aligner.emplace(folder.PathOf("genome.fa"));
    header.emplace(aligner->References(), ProgramLine{"cosched", "bench", "bench_genomics"});
    chunks = ReadChunks(OpenFastq(Files(), kChunkReads));
    Aligner::Buffer buffer;
    for (const ReadChunk& chunk : chunks) sam.push_back(AlignChunk(*aligner, chunk, &buffer));
    runs = Parsed();
    BamBlocks cut(header->BamBytes(), Sorted(runs));
    for (std::string block; cut.Next(&block);) blocks.push_back(block);
  }

  std::vector<std::string> Files() const {
    return {folder.PathOf("1.fq.gz"), folder.PathOf("2.fq.gz")};
  }
  std::vector<RecordRun> Parsed() const {
    SamParser parser(*header);
    std::vector<RecordRun> parsed(chunks.size());
    for (size_t i = 0; i < chunks.size(); ++i) {
      parser.Parse(sam[i], chunks[i].First(), static_cast<int64_t>(chunks[i].Reads()), &parsed[i]);
    }
    return parsed;
  }
  RecordMerge Sorted(std::vector<RecordRun> unsorted) const {
    SortedRuns sorted(1'024, folder.Path());
    for (RecordRun& run : unsorted) {
      run.Sort();
      sorted.Add(std::move(run));
    }
    return sorted.Merge();
  }

  TemporaryFolder folder;
  std::optional<Aligner> aligner;
  std::optional<SamHeader> header;
  std::vector<ReadChunk> chunks;
  std::vector<std::string> sam;
  std::vector<RecordRun> runs;
  std::vector<std::string> blocks;
};

const Inputs& InputsOf(const benchmark::State& state) {
  static const ReferenceGenome genome = ColiGenome();
  static std::map<int64_t, Inputs> made;
  return made.try_emplace(state.range(0), genome, state.range(0)).first->second;
}

// Runs `part` in the benchmark's loop. Counters: us, µs a read, and cpu_us, those of all processes.
template <typename Part>
void Measure(benchmark::State& state, Part part) {
  const double processor = ProcessorSecondsOfAll();
  const auto start = std::chrono::steady_clock::now();
  for (auto unused : state) part();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double reads =
      static_cast<double>(state.range(0)) * static_cast<double>(state.iterations());
  state.counters["us"] = 1e6 * seconds.count() / reads;
  state.counters["cpu_us"] = 1e6 * (ProcessorSecondsOfAll() - processor) / reads;
}

void BM_Index(benchmark::State& state) {
  const std::string genome = InputsOf(state).folder.PathOf("genome.fa");
  Measure(state, [&] { benchmark::DoNotOptimize(Aligner(genome).References().data()); });
}

void BM_Parse(benchmark::State& state) {
  const Inputs& inputs = InputsOf(state);
  Measure(state, [&] {
    FastqReader reader = OpenFastq(inputs.Files(), kChunkReads);
    for (ReadChunk chunk; reader.Next(&chunk);) benchmark::DoNotOptimize(chunk.Bytes());
  });
}

void BM_Align(benchmark::State& state) {
  const Inputs& inputs = InputsOf(state);
  Aligner::Buffer buffer;
  Measure(state, [&] {
    for (const ReadChunk& chunk : inputs.chunks) {
      benchmark::DoNotOptimize(AlignChunk(*inputs.aligner, chunk, &buffer).data());
    }
  });
}

void BM_SamToBam(benchmark::State& state) {
  const Inputs& inputs = InputsOf(state);
  Measure(state, [&] { benchmark::DoNotOptimize(inputs.Parsed().data()); });
}

// With the copies of the runs, which a pipeline moves.
void BM_SortAndMerge(benchmark::State& state) {
  const Inputs& inputs = InputsOf(state);
  Measure(state, [&] {
    BamBlocks blocks("", inputs.Sorted(inputs.runs));
    for (std::string block; blocks.Next(&block);) benchmark::DoNotOptimize(block.data());
  });
}

void BM_Compress(benchmark::State& state) {
  const Inputs& inputs = InputsOf(state);
  const int level = static_cast<int>(state.range(1));
  Measure(state, [&] {
    for (const std::string& block : inputs.blocks) {
      benchmark::DoNotOptimize(CompressBlock(block, level).data());
    }
  });
}

// From the files to the file, with the index, on one thread.
void BM_Whole(benchmark::State& state) {
  const Inputs& inputs = InputsOf(state);
  Measure(state, [&] {
    const Aligner aligner(inputs.folder.PathOf("genome.fa"));
    AlignSort(aligner, inputs.Files(), inputs.folder.PathOf("ours.bam"),
              {.chunk_reads = kChunkReads, .memory_mib = 1'024, .folder = inputs.folder.Path()});
  });
}

void BM_Programs(benchmark::State& state) {
  const Inputs& inputs = InputsOf(state);
  if (std::system("command -v minimap2 samtools >/dev/null 2>&1") != 0) {
    state.SkipWithError("no minimap2 or no samtools here (Debian: minimap2, samtools)");
    return;
  }
  const std::string command = "cd " + inputs.folder.Path() +
                              " && minimap2 -t1 -ax sr genome.fa 1.fq.gz 2.fq.gz 2>/dev/null | "
                              "samtools sort -@0 -o theirs.bam - 2>/dev/null";
  Measure(state, [&] {
    if (std::system(command.c_str()) != 0) state.SkipWithError("the programs failed");
  });
}

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->Arg(1'000)->Arg(100'000)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_Index)->Apply(Sizes);
BENCHMARK(BM_Parse)->Apply(Sizes);
BENCHMARK(BM_Align)->Apply(Sizes);
BENCHMARK(BM_SamToBam)->Apply(Sizes);
BENCHMARK(BM_SortAndMerge)->Apply(Sizes);
BENCHMARK(BM_Compress)
    ->Args({1'000, kDefaultCompression})
    ->Args({100'000, kDefaultCompression})
    ->Args({100'000, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Whole)->Apply(Sizes);
BENCHMARK(BM_Programs)->Apply(Sizes);

}  // namespace
}  // namespace cosched

BENCHMARK_MAIN();
