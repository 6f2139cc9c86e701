#pragma once
// The parts of workloads/genomics one behind the other, as a pipeline calls them, on one thread: what
// the tests compare with minimap2 and samtools.

#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "workloads/genomics/aligner.h"
#include "workloads/genomics/bam_writer.h"
#include "workloads/genomics/fastq.h"
#include "workloads/genomics/sam_records.h"
#include "workloads/genomics/sorted_runs.h"

namespace cosched {

struct AlignSortOptions {
  size_t chunk_reads = 10'000;
  int64_t memory_mib = 64;
  std::string folder = {};    // Of temporary files.
  uint64_t shuffle_seed = 0;  // Not 0: chunks are done in another order than they were read.
};

// The SAM text of all of a chunk's templates.
inline std::string AlignChunk(const Aligner& aligner, const ReadChunk& chunk,
                              Aligner::Buffer* buffer) {
  std::string sam;
  for (size_t i = 0; i < chunk.Templates(); ++i) aligner.Align(chunk, i, buffer, &sam);
  return sam;
}

inline std::vector<ReadChunk> ReadChunks(FastqReader reader) {
  std::vector<ReadChunk> chunks;
  ReadChunk chunk;
  while (reader.Next(&chunk)) chunks.push_back(std::move(chunk));
  return chunks;
}

// Writes `out`; returns how many bytes of records were spilled.
inline int64_t AlignSort(const Aligner& aligner, const std::vector<std::string>& reads,
                         const std::string& out, const AlignSortOptions& options) {
  const SamHeader header(aligner.References(), {"cosched", "test", "cosched pipeline run"});
  SortedRuns runs(options.memory_mib, options.folder);
  std::vector<ReadChunk> chunks = ReadChunks(OpenFastq(reads, options.chunk_reads));
  Random random(options.shuffle_seed);
  for (size_t i = chunks.size(); options.shuffle_seed != 0 && i > 1; --i) {
    std::swap(chunks[i - 1], chunks[random.Below(i)]);
  }
  Aligner::Buffer buffer;
  SamParser parser(header);
  for (const ReadChunk& chunk : chunks) {
    RecordRun run;
    parser.Parse(AlignChunk(aligner, chunk, &buffer), chunk.First(),
                 static_cast<int64_t>(chunk.Reads()), &run);
    run.Sort();
    runs.Add(std::move(run));
  }
  BamBlocks blocks(header.BamBytes(), runs.Merge());
  BamFile file(out);
  std::string block;
  while (blocks.Next(&block)) file.Write(CompressBlock(block));
  file.Finish();
  return runs.SpilledBytes();
}

}  // namespace cosched
