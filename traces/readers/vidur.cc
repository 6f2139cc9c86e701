// vidur: the request traces of the LLM simulator Vidur (github.com/microsoft/vidur,
// data/processed_traces): arrived_at,num_prefill_tokens,num_decode_tokens, a row a request in order
// of time. Times are seconds as Python prints doubles: up to 17 digits, rounded here to the
// nanosecond, half away from zero. (Vidur's files of lengths alone have no arrived_at.)

#include "traces/input/formats.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat VidurFormat();  // Named in formats.cc.

namespace {

class VidurRow final : public RowFormat {
 public:
  explicit VidurRow(const Columns& columns)
      : time_(columns.Required("arrived_at")),
        prefill_(columns.Required("num_prefill_tokens")),
        decode_(columns.Required("num_decode_tokens")) {}

  size_t TimeColumn() const override { return time_; }

  void Read(const Row& row, Arrival* arrival) const override {
    arrival->kind = Arrival::Kind::kRequest;
    arrival->time = row.Seconds(time_);
    // Pandas writes whole numbers with a ".0" where a column once had a gap.
    arrival->size =
        row.WholeNumber(prefill_, 0, kMaxTokens) + row.WholeNumber(decode_, 0, kMaxTokens);
  }

 private:
  static constexpr int64_t kMaxTokens = 1'000'000'000'000;

  size_t time_;
  size_t prefill_;
  size_t decode_;
};

bool Detect(const TraceHead& head) {
  return head.HasColumns({"arrived_at", "num_prefill_tokens", "num_decode_tokens"});
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(
      std::move(input),
      {.syntax = {}, .order = TableFormat::Order::kPromised, .make = MakeRowFormat<VidurRow>},
      options.on_bad_row);
}

}  // namespace

TraceFormat VidurFormat() {
  return {.name = "vidur",
          .summary = "arrived_at,num_prefill_tokens,num_decode_tokens; the LLM simulator Vidur",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
