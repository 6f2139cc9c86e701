// gavel: the job traces of Gavel (github.com/stanford-futuredata/gavel, scheduler/traces) and its
// successors: no header, fields between TABs, a row a job. How many fields the first rows have
// decides which they are (NamesOf). Arrivals are seconds, total_steps goes beyond 32
// bits when summed, commands hold blanks and %s. An SLO below 0 is none; it is a multiple of the
// job's own time, so it stays an attribute. scale_factor is the number of workers, 0 = not said.

#include <algorithm>

#include "traces/input/formats.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat GavelFormat();  // Named in formats.cc.

namespace {

using Names = std::vector<std::string>;

size_t CountFields(std::string_view line) {
  return static_cast<size_t>(std::count(line.begin(), line.end(), '\t')) + 1;
}

Names NamesOf(size_t fields) {
  switch (fields) {
    case 6:
      return {"job_type",    "command",      "num_steps_arg",
              "total_steps", "arrival_time", "scale_factor"};
    case 7:
      return {"job_type",    "command",      "num_steps_arg", "needs_data_dir",
              "total_steps", "arrival_time", "scale_factor"};
    case 9:
      return {"job_type",     "command",         "num_steps_arg", "needs_data_dir", "total_steps",
              "scale_factor", "priority_weight", "SLO",           "arrival_time"};
    case 10:
      return {"job_type",    "command",      "working_directory", "num_steps_arg", "needs_data_dir",
              "total_steps", "scale_factor", "priority_weight",   "SLO",           "arrival_time"};
    default: return {};
  }
}

// The names in the first line that may be a row, so that a malformed first one can be left out.
Names FindNames(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    if (Names names = NamesOf(CountFields(line)); !names.empty()) return names;
    head.remove_prefix(std::min(line.size() + 1, head.size()));
  }
  return NamesOf(10);
}

class GavelRow final : public RowFormat {
 public:
  explicit GavelRow(const Columns& columns)
      : type_(columns.Required("job_type")),
        steps_(columns.Required("total_steps")),
        scale_(columns.Required("scale_factor")),
        time_(columns.Required("arrival_time")) {}

  size_t TimeColumn() const override { return time_; }

  void Read(const Row& row, Arrival* arrival) const override {
    arrival->time = row.Seconds(time_);
    arrival->tenant = row.Text(type_);
    arrival->size = row.Integer(steps_, 0);
    arrival->cores_preferred = row.Cores(scale_);
  }

 private:
  size_t type_;
  size_t steps_;
  size_t scale_;
  size_t time_;
};

constexpr TableFormat kFormat = {.syntax = {.separator = '\t', .comment = '\0', .names = FindNames},
                                 .order = TableFormat::Order::kAny,
                                 .make = MakeRowFormat<GavelRow>};

bool Detect(const TraceHead& head) { return !NamesOf(CountFields(head.FirstLine())).empty(); }

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(std::move(input), kFormat, options.on_bad_row);
}

}  // namespace

TraceFormat GavelFormat() {
  return {.name = "gavel",
          .summary = "no header, 7 or 10 fields between TABs (also 6 or 9); Gavel's jobs",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
