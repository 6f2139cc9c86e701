// Vidur's request traces (https://github.com/microsoft/vidur): arrived_at,num_prefill_tokens,
// num_decode_tokens; requests with the tokens of a prompt and of its answer, nothing else.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "engine/base/error.h"
#include "traces/writers.h"

namespace cosched {

TraceTarget VidurTarget();  // Named in writers.cc.

namespace {

// What the formats of requests to language models call the two.
constexpr std::array<std::string_view, 5> kPrefill = {
    "num_prefill_tokens", "ContextTokens", "Request tokens", "input_length", "prompt_tokens"};
constexpr std::array<std::string_view, 5> kDecode = {"num_decode_tokens", "GeneratedTokens",
                                                     "Response tokens", "output_length",
                                                     "completion_tokens"};

std::optional<size_t> FindColumn(const TraceSurvey& survey,
                                 std::span<const std::string_view> names) {
  for (std::string_view name : names) {
    if (const std::optional<size_t> column = survey.Column(name)) return column;
  }
  return std::nullopt;
}

class VidurWriter final : public TraceWriter {
 public:
  VidurWriter(Duration origin, size_t prefill, size_t decode)
      : origin_(origin), prefill_(prefill), decode_(decode) {}

  void Begin(std::string* out) override {
    *out += "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  }

  void Write(const Arrival& arrival, std::string* out) override {
    AppendSeconds(arrival.time - origin_, out);
    for (size_t column : {prefill_, decode_}) {
      *out += ',';
      *out += arrival.attributes[column];
    }
    *out += '\n';
  }

 private:
  const Duration origin_;
  const size_t prefill_;
  const size_t decode_;
};

std::unique_ptr<TraceWriter> Make(const TraceSurvey& survey) {
  const std::optional<size_t> prefill = FindColumn(survey, kPrefill);
  const std::optional<size_t> decode = FindColumn(survey, kDecode);
  if (!prefill || !decode) {
    throw InputError(
        {.file = "command line",
         .key = "--to",
         .problem = fmt::format("vidur needs the tokens of prompt and answer, and {} has no {}",
                                survey.format, prefill ? "generated tokens" : "prompt tokens"),
         .allowed = "a trace with both, such as azure-llm, burstgpt or mooncake"});
  }
  return std::make_unique<VidurWriter>(Origin(survey), *prefill, *decode);
}

std::vector<std::string> Losses(const TraceSurvey& survey) {
  std::vector<size_t> held;
  for (const std::optional<size_t> column :
       {FindColumn(survey, kPrefill), FindColumn(survey, kDecode)}) {
    if (column) held.push_back(*column);
  }
  return LossList(survey)
      .AddOrigin(Origin(survey))
      .Add(survey.arrivals() - survey.having[kRequest], "kind", "jobs become requests")
      .Add(kTenant, "tenant")
      .Add(kDuration, "duration")
      .Add(std::max({survey.having[kCoresMin], survey.having[kCoresPreferred],
                     survey.having[kCoresMax]}),
           "cores")
      .Add(kDeadline, "deadline")
      .Add(kPriority, "priority")
      .AddColumns(held)
      .Lines();
}

}  // namespace

TraceTarget VidurTarget() {
  return {.name = "vidur",
          .summary = "requests: arrived_at,num_prefill_tokens,num_decode_tokens",
          .make = Make,
          .losses = Losses};
}

}  // namespace cosched
