#pragma once
// Sorts records by an integer in bounded memory: what does not fit is written to a temporary file
// in sorted runs, which are merged while they are read back. Stable: records of one key come out as
// they went in. Used where a trace's rows are in another order than their times. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "traces/input/temporary_file.h"

namespace cosched {

class ExternalSort {
 public:
  static constexpr size_t kMemory = 64 << 20;

  explicit ExternalSort(size_t memory = kMemory) : memory_(memory) {}

  void Add(int64_t key, std::string_view record);
  // After the last Add and before the first Next.
  void Finish();
  // The record of the smallest key that is left, or false. The view is valid until the next call.
  bool Next(int64_t* key, std::string_view* record);

 private:
  struct Entry {
    int64_t key;
    uint64_t offset;  // Into bytes_.
    uint64_t size;
  };
  // A sorted run in the file, read through a buffer of its own.
  struct Run {
    int64_t at;
    int64_t end;
    std::vector<char> buffer;
    size_t begin = 0;
    int64_t key = 0;
    std::string_view record;
  };

  void SortEntries();
  void Spill();
  bool Advance(Run* run) const;
  void Need(Run* run, size_t bytes) const;

  size_t memory_;
  std::vector<Entry> entries_;
  bool in_order_ = true;  // entries_
  std::vector<char> bytes_;
  size_t next_entry_ = 0;
  std::unique_ptr<TemporaryFile> file_;
  std::vector<Run> runs_;
  std::vector<size_t> heap_;  // Indices of runs, the one with the smallest key in front.
  bool started_ = false;
};

}  // namespace cosched
