#include "experiments/watch/cell_follower.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <system_error>
#include <utility>

#include "engine/base/error.h"

namespace cosched {
namespace {

// Nothing if there is none.
std::optional<FolderId> IdOf(const std::filesystem::path& folder) {
  struct statx of = {};
  if (statx(AT_FDCWD, folder.c_str(), 0, STATX_INO | STATX_BTIME, &of) != 0) return std::nullopt;
  return FolderId{of.stx_ino, of.stx_btime.tv_sec * 1'000'000'000 + of.stx_btime.tv_nsec};
}

}  // namespace

CellFollower::CellFollower(std::filesystem::path run, CellKey key, bool runs)
    : run_(std::move(run)), key_(std::move(key)), runs_(runs) {
  Refresh();
}

// While a cell is run anew its old folder has a cell.json, too.
bool CellFollower::IsWhole() const {
  std::error_code ignored;
  return !std::filesystem::exists(PartialFolder(run_, key_), ignored) &&
         std::filesystem::exists(CellFolder(run_, key_) / kCellFileName, ignored);
}

template <typename Row, typename... Members>
void CellFollower::Read(Table<Row>* table, Members... wanted) {
  if (table->given_up) return;
  try {
    if (!table->reader) {
      const std::filesystem::path folder =
          runs_ ? PartialFolder(run_, key_) : CellFolder(run_, key_);
      std::error_code ignored;
      if (runs_ && !std::filesystem::exists(folder / Row::kFile, ignored)) {
        compressed_ = compressed_ || HasTable<Row>(folder);
        return;
      }
      if (!runs_ && !HasTable<Row>(folder)) return;
      table->reader = std::make_unique<RowReader<Row>>(runs_ ? Growth::kGoesOn : Growth::kOver,
                                                       folder, wanted...);
    }
    while (const Row* row = table->reader->Next()) story_.Add(*row);
  } catch (const InputError& error) {
    // Of a table that was made just now not even the header need be there.
    if (runs_ && !table->reader) return;
    table->given_up = true;
    problem_ = error.what();
  }
}

std::string CellFollower::Problem() const {
  if (!problem_.empty() || file_ || !compressed_) return problem_;
  return "its records are compressed: what happened shows once the cell is over";
}

void CellFollower::ReadAll() {
  Read(&tables_.grants, &GrantRow::time, &GrantRow::job_id, &GrantRow::kind, &GrantRow::cores,
       &GrantRow::threads, &GrantRow::amount);
  Read(&tables_.submitted, &SubmittedRow::job_id, &SubmittedRow::workload, &SubmittedRow::steps,
       &SubmittedRow::serves);
  Read(&tables_.samples, &SampleRow::time, &SampleRow::job_id, &SampleRow::granted_cores,
       &SampleRow::granted, &SampleRow::runnable_threads, &SampleRow::steps, &SampleRow::images,
       &SampleRow::amount);
  Read(&tables_.decisions, &DecisionRow::decision, &DecisionRow::time, &DecisionRow::event,
       &DecisionRow::allocation);
  Read(&tables_.requests, &RequestRow::job_id, &RequestRow::service, &RequestRow::scheduled,
       &RequestRow::sent, &RequestRow::dispatched, &RequestRow::finished, &RequestRow::state);
  Read(&tables_.queues, &QueueRow::time, &QueueRow::service, &QueueRow::queued,
       &QueueRow::in_flight);
  Read(&tables_.jobs, &JobRow::job_id, &JobRow::workload, &JobRow::submission_time,
       &JobRow::starting_time, &JobRow::finish_time, &JobRow::allocated_resources, &JobRow::threads,
       &JobRow::state, &JobRow::steps);
}

// Who runs a cell anew makes its folder anew; in the files that are open here nothing would come any
// more.
void CellFollower::ForgetEarlierAttempt() {
  const std::optional<FolderId> now = IdOf(PartialFolder(run_, key_));
  if (!now || now == folder_) return;
  if (folder_) {
    story_ = {};
    tables_ = {};
    problem_.clear();
  }
  folder_ = now;
}

void CellFollower::Refresh() {
  if (file_) return;
  if (runs_) ForgetEarlierAttempt();
  // Asked first: once it is whole, no row comes after those that are read now.
  const bool whole = IsWhole();
  ReadAll();
  if (!whole) return;
  if (std::exchange(runs_, false)) ReadAll();  // Tables that were not opened.
  try {
    file_ = ReadCellFile(CellFolder(run_, key_));
    story_.SetWhole();
  } catch (const InputError& error) {
    problem_ = error.what();
  }
}

}  // namespace cosched
