#pragma once
// Reads of a sequencer from one FASTQ file or from two with mates, packed or not, in chunks of a
// bounded number of reads: what the first stage of align-sort hands to the aligner. As in minimap2,
// neighbours of one name (up to a last "/1" or "/2") are a template, whose reads are aligned together:
// mates in two files, mates one behind the other in one file, or a single read. Sequences and
// qualities may go over several lines. Not thread-safe; chunks are values.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/byte_source.h"
#include "workloads/genomics/line_reader.h"

namespace cosched {

// A NUL stands behind each of the three.
struct SequencedRead {
  std::string_view name;       // Up to the first blank of its line.
  std::string_view bases;      // May be empty; U is T.
  std::string_view qualities;  // As many as bases.
};

class ReadChunk {
 public:
  explicit ReadChunk(int64_t first = 0) : first_(first) {}

  int64_t First() const { return first_; }  // How many reads of the input come before.
  size_t Reads() const { return places_.size(); }
  size_t Templates() const { return templates_.size(); }
  SequencedRead Read(size_t index) const;  // REQUIRES: index < Reads().
  // Its reads are neighbours, from the first on. REQUIRES: index < Templates().
  size_t FirstOfTemplate(size_t index) const { return templates_[index]; }
  size_t EndOfTemplate(size_t index) const;
  size_t Bytes() const { return text_.size(); }
  size_t Memory() const;  // Bytes that it takes, room to grow included.

  // Appends a read; opens a template if its name is another one than that of the last read.
  void Add(const SequencedRead& read);
  // Whether a read of that name would be of the last read's template.
  bool Continues(std::string_view name) const;
  size_t ReadsOfLastTemplate() const;

 private:
  struct Place {
    size_t name;  // Offset in text_; bases and qualities follow.
    uint32_t name_length;
    uint32_t length;
  };

  int64_t first_;
  std::string text_;
  std::vector<Place> places_;
  std::vector<size_t> templates_;  // First read of each.
};

class FastqReader {
 public:
  // The longest read that is accepted, in bases: far beyond what short-read alignment is for.
  static constexpr size_t kLongestRead = 1 << 20;
  static constexpr size_t kLongestName = 254;      // SAM's limit.
  static constexpr size_t kLargestTemplate = 255;  // minimap2's limit.

  struct File {
    std::string name;
    std::unique_ptr<ByteSource> source;
  };

  // Chunks of `reads` reads, and those that it takes to end the last template. REQUIRES: one file, or
  // two; reads > 0.
  FastqReader(std::vector<File> files, size_t reads);

  // False after the last chunk; an empty file has none. Throws InputError with file and line for what
  // is no FASTQ, and where one file of two ends before the other.
  bool Next(ReadChunk* chunk);
  // The same in steps, for callers who can't be away for long: Begin gives a chunk, and Continue adds
  // `most` reads or so until it says that the chunk is whole, which has no reads only at the end.
  ReadChunk Begin() const { return ReadChunk(given_); }
  bool Continue(ReadChunk* chunk, size_t most);

 private:
  // A read as it is being put together from its lines.
  struct Draft {
    std::string name, bases, qualities;
  };

  // One read of each file; false if there are no more.
  bool ReadMates();
  static bool ReadOne(LineReader* lines, Draft* draft);
  static void ReadName(const LineReader& lines, std::string_view line, Draft* draft);
  static void ReadBases(LineReader* lines, Draft* draft);
  static void ReadQualities(LineReader* lines, Draft* draft);
  void FailLarge(const std::string& name) const;

  std::vector<LineReader> lines_;
  size_t reads_;
  std::vector<Draft> drafts_;  // A file each.
  bool held_ = false;          // The drafts belong to the next chunk.
  int64_t given_ = 0;
};

// REQUIRES: one path, or two. Throws InputError if one can't be opened.
FastqReader OpenFastq(const std::vector<std::string>& paths, size_t reads);

}  // namespace cosched
