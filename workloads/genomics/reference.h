#pragma once
// The reference genome from a FASTA file, packed or not, as the aligner's index and the header of a
// BAM file need it. Immutable after reading.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/byte_source.h"

namespace cosched {

// A chromosome, plasmid or contig.
struct ReferenceSequence {
  std::string name;
  int64_t length = 0;  // Bases.
};

struct ReferenceGenome {
  std::vector<ReferenceSequence>
      sequences;                   // In the file's order, which is that of a sorted BAM file.
  std::vector<std::string> bases;  // Of each.
};

// `name` is what errors call the file. Throws InputError, with the line, for what is no FASTA, for a
// name that comes twice, and for what minimap2 would not index as one part (4 G bases).
ReferenceGenome ReadFasta(std::unique_ptr<ByteSource> source, const std::string& name);

}  // namespace cosched
