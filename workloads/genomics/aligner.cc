#include "workloads/genomics/aligner.h"

// The library's headers of the same names as htslib's (khash.h, kseq.h): no htslib in this file.
#include <mmpriv.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/base/byte_source.h"
#include "engine/base/check.h"

namespace cosched {
namespace {

// mm_tbuf_t, which minimap2 hides. The library's interface does not return repeat_length, but every
// record carries it (tag rl). Checked against the installed library while configuring
// (check_minimap2.c).
struct MappingBuffer {
  void* memory;
  int repeat_length;
  int fragment_gap;
};

struct FreeMappingBuffer {
  void operator()(mm_tbuf_t* buffer) const { mm_tbuf_destroy(buffer); }
};

struct FreeIndex {
  void operator()(mm_idx_t* index) const { mm_idx_destroy(index); }
};

using IndexPointer = std::unique_ptr<mm_idx_t, FreeIndex>;

// Repetitive bases of the template that was mapped last.
int RepeatLength(const mm_tbuf_t* buffer) {
  MappingBuffer mirror;
  std::memcpy(&mirror, buffer, sizeof mirror);
  return mirror.repeat_length;
}

// A template without bases is not mapped, and would show the one's before it.
void ClearRepeatLength(mm_tbuf_t* buffer) {
  std::memset(reinterpret_cast<char*>(buffer) + offsetof(MappingBuffer, repeat_length), 0,
              sizeof(MappingBuffer::repeat_length));
}

IndexPointer BuildIndex(const ReferenceGenome& genome, const mm_idxopt_t& options) {
  std::vector<const char*> names;
  std::vector<const char*> bases;
  for (const ReferenceSequence& sequence : genome.sequences) names.push_back(sequence.name.c_str());
  for (const std::string& sequence : genome.bases) bases.push_back(sequence.c_str());
  IndexPointer index(mm_idx_str(options.w, options.k, options.flag & MM_I_HPC, options.bucket_bits,
                                static_cast<int>(names.size()), bases.data(), names.data()));
  CHECK(index != nullptr) << "a reference of " << names.size() << " sequences";
  return index;
}

// What minimap2 calls a segment of a fragment: one read of the template with its hits.
struct Segments {
  explicit Segments(size_t count) : reads(count), hit_counts(count), hits(count) {}
  ~Segments() {
    for (size_t i = 0; i < hits.size(); ++i) {
      for (int j = 0; j < hit_counts[i]; ++j) std::free(hits[i][j].p);
      std::free(hits[i]);
    }
  }
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  std::vector<mm_bseq1_t> reads;
  std::vector<int> hit_counts;
  std::vector<mm_reg1_t*> hits;
};

// minimap2's type is not const, but nothing of it is written to.
mm_bseq1_t ToMinimap(const SequencedRead& read) {
  mm_bseq1_t converted = {};
  converted.l_seq = static_cast<int>(read.bases.size());
  converted.name = const_cast<char*>(read.name.data());
  converted.seq = const_cast<char*>(read.bases.data());
  // As minimap2 reads them: no qualities of no bases, which it writes as "*".
  converted.qual = read.qualities.empty() ? nullptr : const_cast<char*>(read.qualities.data());
  return converted;
}

void ReverseComplement(std::string_view bases, std::string* reversed) {
  reversed->resize(bases.size());
  for (size_t i = 0; i < bases.size(); ++i) {
    const auto base = static_cast<unsigned char>(bases[bases.size() - 1 - i]);
    (*reversed)[i] = static_cast<char>(seq_comp_table[base]);
  }
}

// Hits of a read that was mapped reversed, as hits of the read as it came.
void FlipStrand(int length, int count, mm_reg1_t* hits) {
  for (int i = 0; i < count; ++i) {
    mm_reg1_t& hit = hits[i];
    const int start = hit.qs;
    hit.qs = length - hit.qe;
    hit.qe = length - start;
    hit.rev = !hit.rev;
  }
}

}  // namespace

struct Aligner::Index {
  mm_mapopt_t options;
  IndexPointer index;
};

struct Aligner::Buffer::State {
  State() : mapping(mm_tbuf_init()) {}
  ~State() { std::free(line.s); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // A read of a pair that is mapped reversed, as the library expects of an orientation.
  static bool MapsReversed(const mm_mapopt_t& options, size_t reads, size_t index) {
    return reads == 2 && ((options.pe_ori >> (index == 0 ? 1 : 0)) & 1) != 0;
  }
  void Map(const Index& index, Segments* segments);
  void Write(const Index& index, const Segments& segments, std::string* sam);

  std::unique_ptr<mm_tbuf_t, FreeMappingBuffer> mapping;
  std::string reversed[2];  // Of mates.
  kstring_t line = {0, 0, nullptr};
};

void Aligner::Buffer::State::Map(const Index& index, Segments* segments) {
  const size_t count = segments->reads.size();
  std::vector<int> lengths(count);
  std::vector<const char*> bases(count);
  for (size_t i = 0; i < count; ++i) {
    const mm_bseq1_t& read = segments->reads[i];
    lengths[i] = read.l_seq;
    bases[i] = read.seq;
    if (!MapsReversed(index.options, count, i)) continue;
    ReverseComplement({read.seq, static_cast<size_t>(read.l_seq)}, &reversed[i]);
    bases[i] = reversed[i].c_str();
  }
  ClearRepeatLength(mapping.get());
  mm_map_frag(index.index.get(), static_cast<int>(count), lengths.data(), bases.data(),
              segments->hit_counts.data(), segments->hits.data(), mapping.get(), &index.options,
              segments->reads[0].name);
  for (size_t i = 0; i < count; ++i) {
    if (MapsReversed(index.options, count, i)) {
      FlipStrand(lengths[i], segments->hit_counts[i], segments->hits[i]);
    }
  }
}

void Aligner::Buffer::State::Write(const Index& index, const Segments& segments, std::string* sam) {
  const int count = static_cast<int>(segments.reads.size());
  const auto write = [&](int segment, int hit) {
    mm_write_sam3(&line, index.index.get(), &segments.reads[segment], segment, hit, count,
                  segments.hit_counts.data(), segments.hits.data(), nullptr, index.options.flag,
                  RepeatLength(mapping.get()));
    sam->append(line.s, line.l);
    sam->push_back('\n');
  };
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < segments.hit_counts[i]; ++j) {
      const mm_reg1_t& hit = segments.hits[i][j];
      if (hit.id == hit.parent) write(i, j);  // The preset leaves out secondary alignments.
    }
    if (segments.hit_counts[i] == 0) write(i, -1);
  }
}

Aligner::Buffer::Buffer() : state_(std::make_unique<State>()) {}
Aligner::Buffer::~Buffer() = default;
Aligner::Buffer::Buffer(Buffer&&) noexcept = default;
Aligner::Buffer& Aligner::Buffer::operator=(Buffer&&) noexcept = default;

Aligner::Aligner(const std::string& fasta) : Aligner(ReadFasta(OpenFile(fasta), fasta)) {}

Aligner::Aligner(const ReferenceGenome& genome)
    : references_(genome.sequences), index_(std::make_unique<Index>()) {
  mm_idxopt_t indexing;
  mm_mapopt_t& mapping = index_->options;
  CHECK(mm_set_opt(nullptr, &indexing, &mapping) == 0 &&
        mm_set_opt("sr", &indexing, &mapping) == 0);
  mapping.flag |= MM_F_OUT_SAM | MM_F_CIGAR;  // -a
  CHECK(mm_check_opt(&indexing, &mapping) == 0);
  CHECK((mapping.flag & MM_F_NO_PRINT_2ND) != 0 && (mapping.flag & MM_F_INDEPEND_SEG) == 0);
  index_->index = BuildIndex(genome, indexing);
  mm_mapopt_update(&mapping, index_->index.get());
}

Aligner::~Aligner() = default;

void Aligner::Align(const ReadChunk& chunk, size_t index, Buffer* buffer, std::string* sam) const {
  const size_t begin = chunk.FirstOfTemplate(index);
  const size_t end = chunk.EndOfTemplate(index);
  CHECK(end - begin <= MM_MAX_SEG) << end - begin;
  Segments segments(end - begin);
  for (size_t i = begin; i < end; ++i) segments.reads[i - begin] = ToMinimap(chunk.Read(i));
  buffer->state_->Map(*index_, &segments);
  buffer->state_->Write(*index_, segments, sam);
}

}  // namespace cosched
