// azure-llm: Azure's LLM inference traces of 2023 and 2024 (AzureLLMInferenceTrace_*.csv of
// github.com/Azure/AzurePublicDataset): TIMESTAMP,ContextTokens,GeneratedTokens, a row a request,
// in order of time. Timestamps of 2023 have seven decimals (100 ns) and no zone, those of 2024 six
// and "+00:00"; either is read exactly. The 2023 files have CRLF and no end behind their last line.

#include "traces/input/formats.h"
#include "traces/input/table_reader.h"

namespace cosched {

TraceFormat AzureLlmFormat();  // Named in formats.cc.

namespace {

class AzureLlmRow final : public RowFormat {
 public:
  explicit AzureLlmRow(const Columns& columns)
      : time_(columns.Required("TIMESTAMP")),
        context_(columns.Required("ContextTokens")),
        generated_(columns.Required("GeneratedTokens")) {}

  size_t TimeColumn() const override { return time_; }

  void Read(const Row& row, Arrival* arrival) const override {
    arrival->kind = Arrival::Kind::kRequest;
    arrival->time = row.DateTime(time_);
    arrival->size = row.Integer(context_, 0, kMaxTokens) + row.Integer(generated_, 0, kMaxTokens);
  }

 private:
  static constexpr int64_t kMaxTokens = 1'000'000'000'000;

  size_t time_;
  size_t context_;
  size_t generated_;
};

bool Detect(const TraceHead& head) {
  return head.HasColumns({"TIMESTAMP", "ContextTokens", "GeneratedTokens"});
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadTable(
      std::move(input),
      {.syntax = {}, .order = TableFormat::Order::kPromised, .make = MakeRowFormat<AzureLlmRow>},
      options.on_bad_row);
}

}  // namespace

TraceFormat AzureLlmFormat() {
  return {.name = "azure-llm",
          .summary = "TIMESTAMP,ContextTokens,GeneratedTokens; Azure's LLM requests, 2023 and 2024",
          .detect = Detect,
          .open = Open};
}

}  // namespace cosched
