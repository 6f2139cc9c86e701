// libFuzzer target of the trace readers, one format a run (--format=NAME): whatever bytes arrive,
// packed or not, the reader gives arrivals that keep its promises (trace_reader.h) or an
// InputError.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "tests/fuzz/format_option.h"
#include "traces/input/formats.h"

namespace cosched {
namespace {

// A few bytes may stand for millions of arrivals; the first ones tell as much.
constexpr int kArrivals = 5'000;

// Reads all of a view, so that the sanitizer sees one that points nowhere.
size_t Touch(std::string_view text) {
  size_t sum = 0;
  for (const char c : text) sum += static_cast<unsigned char>(c);
  return sum;
}

void CheckReader(TraceReader* reader) {
  const size_t columns = reader->Columns().size();
  Arrival arrival;
  Duration last = Duration::min();
  size_t sum = 0;
  for (int i = 0; i < kArrivals && reader->Next(&arrival); ++i) {
    Demand(arrival.time >= last, "arrivals in order of time");
    Demand(arrival.attributes.size() == columns, "an attribute a column");
    last = arrival.time;
    sum += Touch(arrival.tenant);
    for (const std::string_view cell : arrival.attributes) sum += Touch(cell);
  }
  static volatile size_t sink = 0;
  sink = sum;
  const TraceReader::Counts counts = reader->RowCounts();
  Demand(counts.skipped <= counts.rows, "no more rows skipped than read");
  Demand((counts.skipped > 0) != counts.first_skipped.empty(), "the first skipped row is told");
}

void Check(std::string_view bytes, std::string_view name, OnBadRow on_bad_row) {
  try {
    const OpenedTrace trace =
        OpenTrace(std::make_unique<TextInput>(OpenBytes(bytes, "input"), "input"), name,
                  {.on_bad_row = on_bad_row});
    CheckReader(trace.reader.get());
    if (on_bad_row == OnBadRow::kError) {
      Demand(trace.reader->RowCounts().skipped == 0, "nothing skipped unasked");
    }
  } catch (const InputError& error) {
    Demand(!error.details().file.empty(), "an error names its file");
    Demand(!error.details().problem.empty(), "an error says what is wrong");
  }
}

}  // namespace
}  // namespace cosched

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  cosched::ReadFormatOption(*count, *arguments, [](const std::string& name) {
    return std::ranges::any_of(cosched::TraceFormats(),
                               [&](const auto& known) { return known.name == name; });
  });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  cosched::Check(bytes, cosched::format_option.format, cosched::OnBadRow::kError);
  cosched::Check(bytes, cosched::format_option.format, cosched::OnBadRow::kSkip);
  cosched::Check(bytes, "", cosched::OnBadRow::kSkip);  // Whatever it is taken for.
  return 0;
}
