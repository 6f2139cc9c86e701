#pragma once
// Sorted runs of records, in memory or in temporary files, and the merge of several. For SortedRuns.
// Throws OutputError where the disk fails. Not thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/unique_fd.h"
#include "workloads/genomics/sam_records.h"

namespace cosched {

// One run on its way to a merge, from its first record to its last.
class RunCursor {
 public:
  virtual ~RunCursor() = default;
  // Whether it stands at a record; if not, the run has ended. Key and Record are of that record.
  virtual bool Valid() const = 0;
  virtual const SortKey& Key() const = 0;
  virtual std::string_view Record() const = 0;  // Until Advance.
  virtual void Advance() = 0;
};

// The records of several runs in one order.
class RecordMerge {
 public:
  explicit RecordMerge(std::vector<std::unique_ptr<RunCursor>> runs);

  // False after the last record; the view lasts until the next call.
  bool Next(std::string_view* record, SortKey* key = nullptr);

 private:
  // Of a heap. The key lies here, so that comparing does not follow pointers.
  struct Head {
    SortKey key;
    std::unique_ptr<RunCursor> run;
  };
  static bool After(const Head& a, const Head& b) { return a.key > b.key; }

  std::vector<Head> heap_;
  bool given_ = false;  // The record at the heap's top has been handed out.
};

// A run in a file without a name, which ends with this process, however it ends.
struct SpilledRun {
  UniqueFd file;
  int64_t bytes = 0;
};

// Writes all records of a merge to a new file in the folder, in steps.
class RunWriter {
 public:
  RunWriter(const std::string& folder, RecordMerge merge);

  // Goes on for `bytes` or so. Whether there is more.
  bool Write(int64_t bytes);
  SpilledRun Finish();  // REQUIRES: there is no more. At the writer's end.

 private:
  void Flush();

  SpilledRun run_;
  RecordMerge merge_;
  std::string buffer_;
};

// REQUIRES: the run is sorted.
std::unique_ptr<RunCursor> OpenRun(RecordRun run);
std::unique_ptr<RunCursor> OpenRun(SpilledRun run);

}  // namespace cosched
