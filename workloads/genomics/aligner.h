#pragma once
// Aligns short reads to a reference genome by libminimap2 (Li, Bioinformatics 34, 2018): what
// `minimap2 -ax sr` writes, as SAM text, each tag of each record. The aligner is immutable and
// thread-safe once it is made; each caller brings a buffer of its own. It starts no threads: the
// stages of a pipeline call it, a template at a time.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "workloads/genomics/fastq.h"
#include "workloads/genomics/reference.h"

namespace cosched {

class Aligner {
 public:
  // What one caller at a time works in: memory that goes from one template to the next.
  class Buffer {
   public:
    Buffer();
    ~Buffer();
    Buffer(Buffer&&) noexcept;
    Buffer& operator=(Buffer&&) noexcept;

   private:
    friend class Aligner;
    struct State;
    std::unique_ptr<State> state_;
  };

  // Indexes the FASTA file, packed or not: 0.05 s a million bases. Throws InputError (reference.h).
  explicit Aligner(const std::string& fasta);
  explicit Aligner(const ReferenceGenome& genome);
  ~Aligner();
  Aligner(const Aligner&) = delete;
  Aligner& operator=(const Aligner&) = delete;

  const std::vector<ReferenceSequence>& References() const { return references_; }

  // Appends the records of the template's reads to `sam`, a line each: the primary and supplementary
  // alignments of a read or, if there is none, the one that says so. REQUIRES: index <
  // chunk.Templates(); the chunk keeps FastqReader's promises.
  void Align(const ReadChunk& chunk, size_t index, Buffer* buffer, std::string* sam) const;

 private:
  struct Index;  // minimap2's index and options.

  std::vector<ReferenceSequence> references_;
  std::unique_ptr<Index> index_;
};

}  // namespace cosched
