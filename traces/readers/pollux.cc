// pollux: the workloads of Pollux and Sia (github.com/petuum/adaptdl, simulator/workloads):
// name,time,application,num_replicas,batch_size, a row a job. Times are seconds. num_replicas is
// the number of GPUs a user would ask for where the scheduler does not choose it.

#include "traces/input/formats.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat PolluxFormat();  // Named in formats.cc.

namespace {

class PolluxRow final : public RowFormat {
 public:
  explicit PolluxRow(const Columns& columns)
      : time_(columns.Required("time")),
        application_(columns.Required("application")),
        replicas_(columns.Find("num_replicas")) {}

  size_t TimeColumn() const override { return time_; }

  void Read(const Row& row, Arrival* arrival) const override {
    arrival->time = row.Seconds(time_);
    arrival->tenant = row.Text(application_);
    if (row.Has(replicas_)) arrival->cores_preferred = row.Cores(*replicas_);
  }

 private:
  size_t time_;
  size_t application_;
  std::optional<size_t> replicas_;
};

bool Detect(const TraceHead& head) { return head.HasColumns({"name", "time", "application"}); }

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(
      std::move(input),
      {.syntax = {}, .order = TableFormat::Order::kAny, .make = MakeRowFormat<PolluxRow>},
      options.on_bad_row);
}

}  // namespace

TraceFormat PolluxFormat() {
  return {.name = "pollux",
          .summary = "name,time,application,num_replicas,batch_size; the jobs of Pollux and Sia",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
