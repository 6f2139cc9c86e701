// burstgpt: BurstGPT (github.com/HPMLL/BurstGPT): Timestamp,Model,Request tokens,Response
// tokens,Total tokens,Log Type, a row a request; newer files put Session ID and Elapsed time
// between, so columns go by name. Timestamps are seconds (whole ones in the old files, hence many
// ties), elapsed times too. A request that failed has 0 response tokens. It arrived all the same,
// so it is an arrival, and who wants it left out goes by its attribute.

#include "traces/input/formats.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat BurstGptFormat();  // Named in formats.cc.

namespace {

class BurstGptRow final : public RowFormat {
 public:
  explicit BurstGptRow(const Columns& columns)
      : time_(columns.Required("Timestamp")),
        request_(columns.Required("Request tokens")),
        response_(columns.Required("Response tokens")),
        model_(columns.Find("Model")),
        elapsed_(columns.Find("Elapsed time")) {}

  size_t TimeColumn() const override { return time_; }

  void Read(const Row& row, Arrival* arrival) const override {
    arrival->kind = Arrival::Kind::kRequest;
    arrival->time = row.Seconds(time_);
    arrival->tenant = row.Text(model_);
    arrival->size =
        row.WholeNumber(request_, 0, kMaxTokens) + row.WholeNumber(response_, 0, kMaxTokens);
    if (row.Has(elapsed_)) arrival->duration = row.Seconds(*elapsed_);
  }

 private:
  static constexpr int64_t kMaxTokens = 1'000'000'000'000;

  size_t time_;
  size_t request_;
  size_t response_;
  std::optional<size_t> model_;
  std::optional<size_t> elapsed_;
};

bool Detect(const TraceHead& head) {
  return head.HasColumns({"Timestamp", "Request tokens", "Response tokens"});
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(
      std::move(input),
      {.syntax = {}, .order = TableFormat::Order::kAny, .make = MakeRowFormat<BurstGptRow>},
      options.on_bad_row);
}

}  // namespace

TraceFormat BurstGptFormat() {
  return {.name = "burstgpt",
          .summary = "Timestamp,Model,Request tokens,Response tokens,…; BurstGPT, old and new",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
