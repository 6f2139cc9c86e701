#pragma once
// timeline.json of one cell: Chrome trace events, which open in Perfetto (ui.perfetto.dev) and
// chrome://tracing. A row a job with a slice for every grant, counter tracks, and the decisions as
// instant events. The JSON array form, whose closing bracket is optional: a killed run's timeline
// opens too. Used by CellRecords.

#include <filesystem>
#include <string>

#include "engine/base/clock.h"
#include "experiments/records/output_file.h"
#include "policies/job.h"

namespace cosched {

class Timeline {
 public:
  explicit Timeline(const std::filesystem::path& path, size_t buffer = 0);

  void NameJob(JobId job, const std::string& name);
  // What a job did from begin to end, with a line of detail.
  void Slice(JobId job, TimePoint begin, TimePoint end, const std::string& name,
             const std::string& detail);
  void Counter(TimePoint time, const std::string& name, int value);
  void Decision(TimePoint time, const std::string& event, const std::string& allocation);

  void Finish();  // Closes the array and syncs the file.

 private:
  void Write(const std::string& event);

  OutputFile file_;
  bool first_ = true;
};

}  // namespace cosched
