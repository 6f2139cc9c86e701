// philly: the jobs of Microsoft's Philly clusters (github.com/msr-fiddle/philly-traces) as a table:
// timestamp,duration,num_gpus,gpu_time,cluster. Timestamps are a local clock's date and time
// without a zone; duration and gpu_time are seconds and GPU-seconds. Rows are unsorted and a blank
// line ends the file.
//
// The clock is taken as it stands, because the file names no zone: rows are sorted by it. In the
// hour that a clock shows twice in autumn, the arrivals of both hours lie in one, in the order of
// the file where their times are equal, and in spring an hour has none; all other gaps are true.

#include "traces/input/formats.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat PhillyFormat();  // Named in formats.cc.

namespace {

class PhillyRow final : public RowFormat {
 public:
  explicit PhillyRow(const Columns& columns)
      : time_(columns.Required("timestamp")),
        gpus_(columns.Required("num_gpus")),
        duration_(columns.Find("duration")),
        gpu_time_(columns.Find("gpu_time")),
        cluster_(columns.Find("cluster")) {}

  size_t TimeColumn() const override { return time_; }

  void Read(const Row& row, Arrival* arrival) const override {
    arrival->time = row.DateTime(time_);
    arrival->tenant = row.Text(cluster_);
    if (row.Has(duration_)) arrival->duration = row.Seconds(*duration_);
    if (row.Has(gpu_time_)) arrival->size = row.Rounded(*gpu_time_);
    if (row.Has(gpus_)) arrival->cores_preferred = row.Cores(gpus_);
  }

 private:
  size_t time_;
  size_t gpus_;
  std::optional<size_t> duration_;
  std::optional<size_t> gpu_time_;
  std::optional<size_t> cluster_;
};

bool Detect(const TraceHead& head) {
  return head.HasColumns({"timestamp", "duration", "num_gpus"});
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(
      std::move(input),
      {.syntax = {}, .order = TableFormat::Order::kAny, .make = MakeRowFormat<PhillyRow>},
      options.on_bad_row);
}

}  // namespace

TraceFormat PhillyFormat() {
  return {.name = "philly",
          .summary = "timestamp,duration,num_gpus,gpu_time,cluster; Microsoft's Philly clusters",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
