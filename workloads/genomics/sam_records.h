#pragma once
// SAM text as records of a BAM file, by htslib, with the keys by which `samtools sort` orders them.
// Headers are immutable and thread-safe once made; a parser belongs to one caller at a time.

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/genomics/reference.h"

struct sam_hdr_t;  // htslib's.

namespace cosched {

// The program that made a file, as its header tells it (@PG).
struct ProgramLine {
  std::string name;
  std::string version;
  std::string command_line;
};

class SamHeader {
 public:
  // That of a file sorted by coordinate: @HD, an @SQ a reference sequence, @PG. Characters of the
  // program's line that a header can't hold (tabs, line ends) become blanks.
  SamHeader(const std::vector<ReferenceSequence>& references, const ProgramLine& program);
  ~SamHeader();
  SamHeader(const SamHeader&) = delete;
  SamHeader& operator=(const SamHeader&) = delete;

  const std::string& Text() const { return text_; }
  std::string BamBytes() const;  // What a BAM file begins with: the text and the dictionary.

 private:
  friend class SamParser;
  std::vector<ReferenceSequence> references_;
  std::string text_;
  sam_hdr_t* parsed_;
};

// Where a record is in a sorted file: reference (unmapped ones last), position, strand; then the
// order of the input, so that there is one order only.
struct SortKey {
  uint64_t place = 0;
  uint64_t ordinal = 0;
  auto operator<=>(const SortKey&) const = default;
};

// Records in the form of a BAM file, one behind the other, and the order that they are to have.
struct RecordRun {
  struct Entry {
    SortKey key;
    uint64_t offset = 0;  // Of the record in bytes.
  };

  // The record of an entry, its own length first.
  std::string_view Record(const Entry& entry) const;
  int64_t Memory() const;
  // Brings the entries into order; the bytes stay where they are.
  void Sort();
  void Append(const RecordRun& other);

  std::vector<Entry> entries;
  std::string bytes;
};

// The length of a record that begins there. REQUIRES: at least kRecordLengthBytes are there.
constexpr size_t kRecordLengthBytes = 4;
size_t RecordBytes(const char* record);

class SamParser {
 public:
  // The header must outlive the parser.
  explicit SamParser(const SamHeader& header);
  ~SamParser();
  SamParser(const SamParser&) = delete;
  SamParser& operator=(const SamParser&) = delete;

  // Appends the records of the text, a line each, to `run`. They are those of `reads` reads, before
  // which the input has `first` others. Throws InputError, naming the read, for what htslib refuses.
  void Parse(std::string sam, int64_t first, int64_t reads, RecordRun* run);

 private:
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace cosched
