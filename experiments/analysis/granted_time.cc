#include "experiments/analysis/granted_time.h"

#include <map>

#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {

std::optional<double> GrantedCoreSeconds(const std::filesystem::path& cell) {
  if (!HasTable<GrantRow>(cell)) return std::nullopt;
  struct Held {
    double since = 0;
    double amount = 0;
  };
  std::map<int64_t, Held> jobs;
  double sum = 0;
  RowReader<GrantRow> reader(cell, &GrantRow::time, &GrantRow::job_id, &GrantRow::owned_amount);
  while (const GrantRow* row = reader.Next()) {
    Held& held = jobs[row->job_id];
    sum += held.amount * (row->time - held.since);
    held = {row->time, row->owned_amount};  // Nothing, once the job is released.
  }
  return sum;
}

}  // namespace cosched
