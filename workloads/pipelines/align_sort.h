#pragma once
// Reads of a sequencer to a sorted BAM file, as `minimap2 -ax sr | samtools sort` makes it, in eight
// stages: split FASTQ into chunks, align them, sort each one's records, collect the sorted runs
// (in memory or spilled), merge them, compress the blocks, write them, and give the file its name:
// what Whitlock et al. (Pipelined TensorFlow) call align-sort, by other libraries. A request is one
// or two files with reads; what it makes depends on these and on the reference only, not on threads,
// chunks or open requests. Called where programs are made, on any thread.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/pipelines/pipeline_program.h"

namespace cosched {

inline constexpr const char* kAlignSortName = "align-sort";
// The most that settings may say. Sorting a chunk's records is one piece, 10 ms of so many reads.
inline constexpr int64_t kMostChunkReads = 100'000;
inline constexpr int kMostCompression = 9;
inline constexpr int64_t kMostMemoryMib = 1 << 24;

// Written by the stages, read by whoever shows them; of all requests together.
struct AlignSortProgress {
  std::atomic<int64_t> reads_split{0};
  std::atomic<int64_t> reads_aligned{0};
  std::atomic<int64_t> records_written{0};
  std::atomic<int64_t> spilled_bytes{0};  // To temporary files, merges of them counted anew.
};

struct AlignSortSettings {
  std::string reference = {};  // FASTA, packed or not.
  // FASTQ, packed or not: one file, or two with mates. Request n has the n-th of them, and begins
  // anew behind the last.
  std::vector<std::vector<std::string>> reads = {};
  // The BAM file of request 0; or a folder, where request n writes n.bam; "": files without names,
  // which go with their requests.
  std::string out = {};
  int64_t chunk_reads = 10'000;
  OpenRequests open = {};
  int threads = 1;      // The most calls that will compute side by side; gates have room for these.
  int compression = 6;  // zlib's levels.
  int64_t memory_mib = 768;  // For sorted records, of all requests together; the rest is spilled …
  // … to files without names here; "": where the BAM file is, or for temporary ones.
  std::string spill_folder = {};
  std::shared_ptr<AlignSortProgress> progress = {};  // May be null.
};

// The answer of a request.
struct AlignSortResult {
  std::string out;
  int64_t reads = 0;
  int64_t records = 0;
  int64_t bytes = 0;  // Of the file.
};

// The stages of it, without reading any file. Throws InputError as MakeAlignSort does.
PipelineSpec AlignSortSpec(const AlignSortSettings& settings);

// Reads the reference and makes the aligner's index of it, once for all requests: 0.05 s a million
// bases. Throws InputError for settings that can't be, for a reference that is none, and where this
// build lacks the libraries.
PipelineProgram MakeAlignSort(const AlignSortSettings& settings);

}  // namespace cosched
