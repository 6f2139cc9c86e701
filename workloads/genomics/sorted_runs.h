#pragma once
// Records that come in any order, brought into that of `samtools sort`: sorted runs stay in memory up
// to a bound, then they are merged into temporary files, and at the end all are merged. Memory is the
// bound, one run that comes on top, and 64 KiB a file, however many records there are. Not
// thread-safe; sorting a run (RecordRun::Sort) is what callers do side by side, before they add it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/genomics/record_merge.h"
#include "workloads/genomics/sam_records.h"

namespace cosched {

class SortedRuns {
 public:
  // `folder` takes the temporary files. A bound of 0 spills every run. REQUIRES: memory_mib >= 0.
  SortedRuns(int64_t memory_mib, std::string folder);

  // Throws OutputError if a spilled run can't be written. REQUIRES: the run is sorted.
  void Add(RecordRun run);
  // The same in steps, for callers who can't be away for long. Take: whether memory is above the bound
  // now, so that Spill is to be called, which goes on for `bytes` or so, until it says false. REQUIRES:
  // nothing else happens in between.
  bool Take(RecordRun run);
  bool Spill(int64_t bytes);
  // All records that were added, in order; afterwards there are none here. Throws OutputError.
  RecordMerge Merge();

  int64_t Records() const { return records_; }             // Added so far.
  int64_t Memory() const;                                  // Bytes that are held now.
  int64_t SpilledBytes() const { return spilled_bytes_; }  // Written to files so far.

 private:
  struct File {
    SpilledRun run;
    int level = 0;  // How often its records have been merged from other files.
  };

  void Keep(RecordRun run);
  void KeepSmall();
  std::vector<std::unique_ptr<RunCursor>> TakeMemory();
  bool AddFile(File file);

  int64_t most_bytes_;
  std::string folder_;
  RecordRun small_;  // Runs of few records, gathered: thousands of runs would make a slow merge.
  std::vector<RecordRun> runs_;
  int64_t run_bytes_ = 0;  // Of runs_.
  std::vector<File> files_;
  std::optional<RunWriter> writer_;  // Of a run on its way to a file …
  int writer_level_ = 0;             // … which will have this level …
  int64_t writer_bytes_ = 0;         // … and the memory that it began with.
  int64_t records_ = 0;
  int64_t spilled_bytes_ = 0;
};

}  // namespace cosched
