#include "experiments/watch/cell_follower.h"

#include <system_error>
#include <utility>

#include "engine/base/error.h"

namespace cosched {

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
bool CellFollower::Read(Table<Row>* table, Members... wanted) {
  if (table->given_up) return false;
  try {
    if (!table->reader) {
      const std::filesystem::path folder =
          runs_ ? PartialFolder(run_, key_) : CellFolder(run_, key_);
      std::error_code ignored;
      if (runs_ && !std::filesystem::exists(folder / Row::kFile, ignored)) {
        compressed_ = compressed_ || HasTable<Row>(folder);
        return false;
      }
      if (!runs_ && !HasTable<Row>(folder)) return false;
      table->reader = std::make_unique<RowReader<Row>>(runs_ ? Growth::kGoesOn : Growth::kOver,
                                                       folder, wanted...);
    }
    bool some = false;
    for (; const Row* row = table->reader->Next(); some = true) story_.Add(*row);
    return some;
  } catch (const InputError& error) {
    // Of a table that was made just now not even the header need be there.
    if (runs_ && !table->reader) return false;
    table->given_up = true;
    problem_ = error.what();
    return false;
  }
}

std::string CellFollower::Problem() const {
  if (!problem_.empty() || file_ || !compressed_) return problem_;
  return "its records are compressed: what happened shows once the cell is over";
}

bool CellFollower::ReadAll() {
  bool some = Read(&grants_, &GrantRow::time, &GrantRow::job_id, &GrantRow::kind, &GrantRow::cores,
                   &GrantRow::threads, &GrantRow::amount);
  some |= Read(&submitted_, &SubmittedRow::job_id, &SubmittedRow::workload, &SubmittedRow::steps,
               &SubmittedRow::serves);
  some |= Read(&samples_, &SampleRow::time, &SampleRow::job_id, &SampleRow::granted_cores,
               &SampleRow::granted, &SampleRow::runnable_threads, &SampleRow::steps,
               &SampleRow::images, &SampleRow::amount);
  some |= Read(&decisions_, &DecisionRow::decision, &DecisionRow::time, &DecisionRow::event,
               &DecisionRow::allocation);
  some |=
      Read(&requests_, &RequestRow::job_id, &RequestRow::service, &RequestRow::scheduled,
           &RequestRow::sent, &RequestRow::dispatched, &RequestRow::finished, &RequestRow::state);
  some |=
      Read(&queues_, &QueueRow::time, &QueueRow::service, &QueueRow::queued, &QueueRow::in_flight);
  some |= Read(&jobs_, &JobRow::job_id, &JobRow::workload, &JobRow::submission_time,
               &JobRow::starting_time, &JobRow::finish_time, &JobRow::allocated_resources,
               &JobRow::threads, &JobRow::state, &JobRow::steps);
  return some;
}

bool CellFollower::Refresh() {
  if (file_) return false;
  // Asked first: once it is whole, no row comes after those that are read now.
  const bool whole = IsWhole();
  bool some = ReadAll();
  if (!whole) return some;
  if (std::exchange(runs_, false)) some |= ReadAll();  // Tables that were not opened.
  try {
    file_ = ReadCellFile(CellFolder(run_, key_));
    story_.SetWhole();
  } catch (const InputError& error) {
    problem_ = error.what();
  }
  return true;
}

}  // namespace cosched
