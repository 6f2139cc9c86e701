#pragma once
// The genome and the reads on which aligning and sorting are measured: E. coli 536 (Debian:
// bowtie-examples) or, where it is not installed, a random genome of that size.

#include <filesystem>
#include <string>

#include "engine/base/byte_source.h"
#include "engine/base/random.h"
#include "tests/workloads/genomics/generated_reads.h"
#include "tests/workloads/temporary_folder.h"
#include "workloads/genomics/reference.h"

namespace cosched {

inline ReferenceGenome ColiGenome() {
  constexpr const char* kFile = "/usr/share/doc/bowtie/examples/genomes/NC_008253.fna.gz";
  constexpr size_t kBases = 4'938'920;
  if (std::filesystem::exists(kFile)) return ReadFasta(OpenFile(kFile), kFile);
  Random random(1);
  ReferenceGenome genome;
  genome.sequences = {{"random", kBases}};
  genome.bases = {RandomBases(kBases, &random)};
  return genome;
}

// genome.fa, and so many reads of it in 1.fq.gz and 2.fq.gz: mates of 101 bases.
inline void WriteColiReads(const ReferenceGenome& genome, int64_t reads,
                           const TemporaryFolder& folder) {
  Random random(2);
  ReadGenerator generator(&genome, &random);
  std::string first, second;
  for (int64_t i = 0; i < reads / 2; ++i) {
    const auto [left, right] = generator.ProperMates(300 + random.Below(100), 101);
    first += generator.Record("read" + std::to_string(i) + "/1", left);
    second += generator.Record("read" + std::to_string(i) + "/2", right);
  }
  folder.Write("genome.fa", Fasta(genome));
  folder.WriteGzip("1.fq.gz", first);
  folder.WriteGzip("2.fq.gz", second);
}

}  // namespace cosched
