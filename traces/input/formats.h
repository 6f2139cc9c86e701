#pragma once
// The file formats of traces and how a file's format is found. A reader is one .cc in
// traces/readers/ without a header: a function named in the table of formats.cc, which drives
// `cosched list formats`, OpenTrace and the contract tests. Stateless; thread-safe.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "traces/arrivals/trace_reader.h"
#include "traces/input/text_input.h"

namespace cosched {

// Where arrivals lie of which a file says only how many there were in a minute or a second.
enum class Spread {
  kUniform,      // Independently and uniformly: a Poisson process of which the count is known.
  kStart,        // All at its start.
  kExponential,  // The first at its start, then exponential gaps, scaled to fill it.
};

std::string_view ToString(Spread spread);  // "uniform", "start", "exponential"
bool ParseSpread(std::string_view text, Spread* result);

struct TraceOptions {
  OnBadRow on_bad_row = OnBadRow::kError;
  uint64_t seed = 1;                  // For formats that have to draw.
  std::optional<Spread> spread = {};  // Instead of the format's own rule.
  // azure-functions-2019: the day's file of durations. "": the one that belongs to the file's name,
  // if it is beside it.
  std::filesystem::path durations = {};
};

// What a format is recognised by.
struct TraceHead {
  std::string_view text;       // The first bytes, unpacked: at most 64 KiB.
  bool is_all = false;         // The text is the whole file.
  std::string_view file_name;  // Without its folder.

  // The first line that is neither blank nor a comment, without its end; "" if there is none.
  std::string_view FirstLine(char comment = '\0') const;
  // Whether that line names all these columns, in any order, among others.
  bool HasColumns(std::initializer_list<std::string_view> names, char comment = '\0') const;
};

struct TraceFormat {
  std::string_view name;     // "azure-llm"
  std::string_view summary;  // One line.
  bool (*detect)(const TraceHead& head) = nullptr;
  std::unique_ptr<TraceReader> (*open)(std::unique_ptr<TextInput> input,
                                       const TraceOptions& options) = nullptr;
};

std::span<const TraceFormat> TraceFormats();

struct OpenedTrace {
  const TraceFormat* format;
  std::unique_ptr<TraceReader> reader;
};

// Opens a trace. `format` "" = recognised by the content; none or several candidates are an
// InputError that lists them. Throws InputError for a file that can't be read, an unknown format
// and a header that is not the format's; later, from the reader, for what is malformed.
OpenedTrace OpenTrace(const std::filesystem::path& file, std::string_view format = "",
                      const TraceOptions& options = {});
OpenedTrace OpenTrace(std::unique_ptr<TextInput> input, std::string_view format = "",
                      const TraceOptions& options = {});

}  // namespace cosched
