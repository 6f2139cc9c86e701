#pragma once
// A BAM file from sorted records: BGZF blocks (SAMv1, section 4.1), which are gzip files of at most
// 64 KiB each, so that several callers can compress them side by side; they are written in order.
// Cutting and writing belong to one caller at a time; CompressBlock is thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/unique_fd.h"
#include "workloads/genomics/record_merge.h"

namespace cosched {

// What a file holds, cut into the contents of its blocks.
class BamBlocks {
 public:
  // `header`: SamHeader::BamBytes.
  BamBlocks(std::string header, RecordMerge records);

  // The next block; false after the last one. Records begin with a block of their own behind the
  // header, and are cut only where one alone is larger than a block, as samtools cuts them.
  bool Next(std::string* block);

 private:
  std::string rest_;  // Of the header, or of a record that is larger than a block.
  size_t given_ = 0;  // Of rest_.
  RecordMerge records_;
  std::string_view record_;  // Read, but in no block yet.
  bool waiting_ = false;     // Whether there is such a record.
};

constexpr int kDefaultCompression = 6;  // zlib's own default, which samtools takes.

// A block with these contents. Levels are zlib's, 0 to 9. REQUIRES: BamBlocks gave the contents.
std::string CompressBlock(std::string_view contents, int level = kDefaultCompression);

class BamFile {
 public:
  // Has no name until it is finished, so that nothing stays of it however the process ends; where the
  // folder's file system knows no such files, `path`.part. Throws OutputError, as the others do.
  explicit BamFile(std::string path);
  // A file without a name, in this folder, which goes with this object: who only measures wants none.
  struct Nameless {
    std::string folder;
  };
  explicit BamFile(const Nameless& nameless);
  ~BamFile();  // Unless it was finished, nothing stays.
  BamFile(const BamFile&) = delete;
  BamFile& operator=(const BamFile&) = delete;

  void Write(std::string_view block);  // A compressed one.
  void Finish();                       // Adds the end that tells readers that nothing is missing.
  void Discard();                      // Removes the finished file again.
  int64_t Bytes() const { return bytes_; }

 private:
  [[noreturn]] void Fail(const std::string& what) const;

  void NamePart();

  std::string path_;       // "": none.
  std::string part_;       // Of a nameless one, its folder.
  bool has_name_ = false;  // The file is there by the name part_.
  UniqueFd file_;
  int64_t bytes_ = 0;
};

}  // namespace cosched
