#include "workloads/genomics/sorted_runs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr size_t kSmallRun = 4096;      // Records; smaller runs are gathered.
constexpr int kFilesMergedAtOnce = 64;  // Bounds the files that are open.

}  // namespace

SortedRuns::SortedRuns(int64_t memory_mib, std::string folder)
    : most_bytes_(memory_mib << 20), folder_(std::move(folder)) {
  CHECK(memory_mib >= 0) << memory_mib;
}

void SortedRuns::Add(RecordRun run) {
  bool spills = Take(std::move(run));
  while (spills) spills = Spill(std::numeric_limits<int32_t>::max());
}

bool SortedRuns::Take(RecordRun run) {
  if (run.entries.empty()) return false;
  records_ += static_cast<int64_t>(run.entries.size());
  if (run.entries.size() < kSmallRun) {
    small_.Append(run);
    if (small_.entries.size() >= kSmallRun) KeepSmall();
  } else {
    Keep(std::move(run));
  }
  return Memory() > most_bytes_;
}

int64_t SortedRuns::Memory() const { return run_bytes_ + small_.Memory() + writer_bytes_; }

void SortedRuns::Keep(RecordRun run) {
  run_bytes_ += run.Memory();
  runs_.push_back(std::move(run));
}

void SortedRuns::KeepSmall() {
  small_.Sort();
  Keep(std::exchange(small_, {}));
}

std::vector<std::unique_ptr<RunCursor>> SortedRuns::TakeMemory() {
  if (!small_.entries.empty()) KeepSmall();
  std::vector<std::unique_ptr<RunCursor>> cursors;
  for (RecordRun& run : runs_) cursors.push_back(OpenRun(std::move(run)));
  runs_.clear();
  run_bytes_ = 0;
  return cursors;
}

bool SortedRuns::Spill(int64_t bytes) {
  if (!writer_) {
    writer_bytes_ = Memory();
    writer_.emplace(folder_, RecordMerge(TakeMemory()));
    writer_level_ = 0;
  }
  if (writer_->Write(bytes)) return true;
  File file{writer_->Finish(), writer_level_};
  writer_.reset();
  writer_bytes_ = 0;
  return AddFile(std::move(file));
}

// Whether that makes another file, of which the writer is.
bool SortedRuns::AddFile(File added) {
  const int level = added.level;
  spilled_bytes_ += added.run.bytes;
  files_.push_back(std::move(added));
  // Files of one level become one of the next, so that each record is written a few times only.
  const auto other = std::partition(files_.begin(), files_.end(),
                                    [&](const File& file) { return file.level != level; });
  if (files_.end() - other < kFilesMergedAtOnce) return false;
  std::vector<std::unique_ptr<RunCursor>> cursors;
  for (auto file = other; file != files_.end(); ++file) {
    cursors.push_back(OpenRun(std::move(file->run)));
  }
  files_.erase(other, files_.end());
  writer_.emplace(folder_, RecordMerge(std::move(cursors)));
  writer_level_ = level + 1;
  return true;
}

RecordMerge SortedRuns::Merge() {
  CHECK(!writer_) << "a merge in the middle of a spill";
  std::vector<std::unique_ptr<RunCursor>> cursors = TakeMemory();
  for (File& file : files_) cursors.push_back(OpenRun(std::move(file.run)));
  files_.clear();
  return RecordMerge(std::move(cursors));
}

}  // namespace cosched
