#pragma once
// What goes from stage to stage of align-sort. Plain data; each belongs to the call that has it.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/gates/payload.h"
#include "workloads/pipelines/align_sort_stages.h"

namespace cosched {

// Between split and align.
struct ReadsToAlign {
  AlignSortJobPointer job;
  ReadChunk chunk;
  // What the aligner has made of it so far.
  struct Part {
    std::string sam;
    int64_t first = 0, reads = 0;
  };
  std::vector<Part> parts = {};
  size_t next = 0;  // Template.
};

// Between align and sort.
struct AlignedReads {
  AlignSortJobPointer job;
  std::vector<ReadsToAlign::Part> parts;
  RecordRun run = {};
  size_t next = 0;  // Part.
};

// Between sort and collect.
struct SortedReads {
  AlignSortJobPointer job;
  RecordRun run;
};

// Between merge, compress and write.
struct BlockGroup {
  AlignSortJobPointer job;
  std::vector<std::string> blocks;
  bool last = false;
  size_t next = 0;  // To be compressed.
};

// With the bytes that each takes.
Payload PayloadOf(ReadsToAlign reads);
Payload PayloadOf(AlignedReads reads);
Payload PayloadOf(SortedReads reads);
Payload PayloadOf(BlockGroup group);

}  // namespace cosched
