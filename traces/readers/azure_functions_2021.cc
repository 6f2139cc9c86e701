// azure-functions-2021: Azure Functions' invocations of 2021 (AzureFunctionsInvocationTraceForTwo
// WeeksJan2021 of github.com/Azure/AzurePublicDataset): app,func,end_timestamp,duration, a row an
// invocation. Both times are seconds; an arrival is the start, end_timestamp - duration, each
// rounded to the nanosecond. Rows are ordered by their ends at best, so they are sorted by start;
// an invocation that was under way when the recording began starts before 0.

#include "traces/input/formats.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat AzureFunctions2021Format();  // Named in formats.cc.

namespace {

class InvocationRow final : public RowFormat {
 public:
  explicit InvocationRow(const Columns& columns)
      : end_(columns.Required("end_timestamp")),
        duration_(columns.Required("duration")),
        function_(columns.Required("func")) {}

  size_t TimeColumn() const override { return end_; }

  void Read(const Row& row, Arrival* arrival) const override {
    arrival->kind = Arrival::Kind::kRequest;
    arrival->tenant = row.Text(function_);
    arrival->duration = row.Seconds(duration_);
    arrival->time = row.Seconds(end_) - *arrival->duration;
  }

 private:
  size_t end_;
  size_t duration_;
  size_t function_;
};

bool Detect(const TraceHead& head) {
  return head.HasColumns({"func", "end_timestamp", "duration"});
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(
      std::move(input),
      {.syntax = {}, .order = TableFormat::Order::kAny, .make = MakeRowFormat<InvocationRow>},
      options.on_bad_row);
}

}  // namespace

TraceFormat AzureFunctions2021Format() {
  return {.name = "azure-functions-2021",
          .summary = "app,func,end_timestamp,duration; Azure Functions' invocations, one by one",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
