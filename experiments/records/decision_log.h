#pragma once
// decisions.csv: a row for every answer of the policy, written once all that it decided is in
// place, so that settle_us is known: the longest time from the decision to a settled grant. It
// stays empty if nothing had to settle, or if one of its grants never did because a later decision
// or the job's end overtook it. Rows are thus in order of settling; the column `decision` numbers
// them in order of time. Used by CellRecords.

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "engine/base/clock.h"
#include "experiments/records/rows.h"
#include "experiments/records/table.h"
#include "policies/job.h"

namespace cosched {

class DecisionLog {
 public:
  // As RowWriter.
  DecisionLog(const std::filesystem::path& cell, bool gzip, size_t buffer = 0);

  // allocation as the arbiter tells it: "3=0-1 2=pause".
  void Add(TimePoint time, int64_t decision, const std::string& event,
           const std::string& allocation, Duration decision_time);
  void Settled(JobId job, int64_t decision, Duration since);
  void Ended(JobId job);
  void Finish();  // Writes what has not settled, and syncs the file.

 private:
  struct Entry {
    TimePoint time;
    std::string event;
    std::string allocation;
    Duration decision_time{0};
    std::set<JobId> pending;  // Whose grants have not settled.
    bool overtaken = false;
    bool settled = false;  // At least one grant.
    Duration settle{0};
  };
  using Entries = std::map<int64_t, Entry>;

  void Overtake(JobId job);
  void WriteIfComplete(Entries::iterator entry);
  void Write(int64_t decision, const Entry& entry);

  RowWriter<DecisionRow> file_;
  Entries open_;
  std::map<JobId, int64_t> pending_in_;  // The open decision that each job is pending in.
};

}  // namespace cosched
