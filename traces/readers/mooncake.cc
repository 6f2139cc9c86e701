// mooncake: the request traces of Mooncake (github.com/kvcache-ai/Mooncake, FAST 2025): an object a
// line, {"timestamp": 0, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1, …]}. The
// timestamp is in milliseconds, and many requests share one. Size: the tokens of input and output.
// Other keys (session_id, delay, …) stay attributes; who: session_id, where there is one.

#include "traces/input/formats.h"
#include "traces/input/json_reader.h"

namespace cosched {

TraceFormat MooncakeFormat();  // Named in formats.cc.

namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 53;

Arrival ReadRequest(const JsonRecord& request) {
  Arrival arrival;
  arrival.kind = Arrival::Kind::kRequest;
  arrival.time = request.Milliseconds("timestamp");
  const std::optional<int64_t> input = request.Integer("input_length", 0, kMaxTokens);
  const std::optional<int64_t> output = request.Integer("output_length", 0, kMaxTokens);
  if (input || output) arrival.size = input.value_or(0) + output.value_or(0);
  const JsonRecord::Field* session = request.Find("session_id");
  if (session != nullptr) arrival.tenant = session->text;
  return arrival;
}

bool Detect(const TraceHead& head) {
  const std::string_view line = head.FirstLine();
  return line.starts_with('{') && line.find("\"timestamp\"") != std::string_view::npos &&
         (line.find("\"input_length\"") != std::string_view::npos ||
          line.find("\"hash_ids\"") != std::string_view::npos);
}

std::unique_ptr<TraceReader> Open(std::unique_ptr<TextInput> input, const TraceOptions& options) {
  return ReadJsonObjects(std::move(input), "", options.on_bad_row, ReadRequest);
}

}  // namespace

TraceFormat MooncakeFormat() {
  return {
      .name = "mooncake",
      .summary = "JSON lines, timestamp in ms, input_length, output_length; Mooncake's requests",
      .detect = Detect,
      .open = Open};
}

}  // namespace cosched
