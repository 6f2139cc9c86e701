#include "traces/input/formats.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "traces/input/table.h"

namespace cosched {

// Each is defined in the file of traces/readers/ that has its format's name.
TraceFormat AlibabaOpenbFormat();
TraceFormat AzureFunctions2019Format();
TraceFormat AzureFunctions2021Format();
TraceFormat AzureLlmFormat();
TraceFormat BurstGptFormat();
TraceFormat CoschedFormat();
TraceFormat DisbFormat();
TraceFormat ElastisimFormat();
TraceFormat GapsFormat();
TraceFormat GavelFormat();
TraceFormat LoadgenFormat();
TraceFormat MooncakeFormat();
TraceFormat PhillyFormat();
TraceFormat PolluxFormat();
TraceFormat RateSeriesFormat();
TraceFormat SwfFormat();
TraceFormat TfcsFormat();
TraceFormat VidurFormat();

namespace {

constexpr const char* kHowToName = "(the key trace.format, or --format)";

std::string List(std::span<const TraceFormat* const> formats) {
  std::string names;
  for (const TraceFormat* format : formats) {
    names += (names.empty() ? "" : ", ") + std::string(format->name);
  }
  return names;
}

std::vector<const TraceFormat*> AllFormats() {
  std::vector<const TraceFormat*> all;
  for (const TraceFormat& format : TraceFormats()) all.push_back(&format);
  return all;
}

const TraceFormat& Named(std::string_view name, const std::string& file) {
  for (const TraceFormat& format : TraceFormats()) {
    if (format.name == name) return format;
  }
  throw InputError({.file = file,
                    .key = "format",
                    .problem = "there is no trace format " + Quoted(name),
                    .allowed = List(AllFormats())});
}

const TraceFormat& Recognised(TextInput* input) {
  const TraceHead head = {
      .text = input->Head(),
      .is_all = input->HeadIsAll(),
      .file_name = std::string_view(input->File()).substr(input->File().rfind('/') + 1)};
  if (head.text.empty()) input->Fail("holds no arrival: it is empty", "a trace");
  std::vector<const TraceFormat*> candidates;
  for (const TraceFormat& format : TraceFormats()) {
    if (format.detect(head)) candidates.push_back(&format);
  }
  if (candidates.size() == 1) return *candidates.front();
  const bool none = candidates.empty();
  throw InputError(
      {.file = input->File(),
       .line = none ? 1 : 0,
       .problem = none ? "is in no known trace format; it begins with " + Quoted(head.FirstLine())
                       : "may be in one of several formats",
       .allowed =
           (none ? "one of these, named if its first line is not as it should be " : "say which ") +
           std::string(kHowToName) + ": " + List(none ? AllFormats() : candidates)});
}

}  // namespace

std::string_view ToString(Spread spread) {
  switch (spread) {
    case Spread::kUniform: return "uniform";
    case Spread::kStart: return "start";
    case Spread::kExponential: return "exponential";
  }
  return "";
}

bool ParseSpread(std::string_view text, Spread* result) {
  for (const Spread spread : {Spread::kUniform, Spread::kStart, Spread::kExponential}) {
    if (text != ToString(spread)) continue;
    *result = spread;
    return true;
  }
  return false;
}

std::string_view TraceHead::FirstLine(char comment) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] != comment) return line;
  }
  return "";
}

bool TraceHead::HasColumns(std::initializer_list<std::string_view> names, char comment) const {
  CellSplitter splitter({});
  if (!splitter.Split(FirstLine(comment))) return false;
  const std::span<const std::string_view> cells = splitter.Cells();
  return std::all_of(names.begin(), names.end(), [&cells](std::string_view name) {
    return std::find(cells.begin(), cells.end(), name) != cells.end();
  });
}

std::span<const TraceFormat> TraceFormats() {
  static const std::array kFormats = {
      CoschedFormat(),
      AzureLlmFormat(),
      VidurFormat(),
      BurstGptFormat(),
      AzureFunctions2019Format(),
      AzureFunctions2021Format(),
      RateSeriesFormat(),
      PhillyFormat(),
      GavelFormat(),
      PolluxFormat(),
      AlibabaOpenbFormat(),
      SwfFormat(),
      MooncakeFormat(),
      DisbFormat(),
      GapsFormat(),
      ElastisimFormat(),
      TfcsFormat(),
      LoadgenFormat(),
  };
  return kFormats;
}

OpenedTrace OpenTrace(const std::filesystem::path& file, std::string_view format,
                      const TraceOptions& options) {
  return OpenTrace(std::make_unique<TextInput>(file), format, options);
}

OpenedTrace OpenTrace(std::unique_ptr<TextInput> input, std::string_view format,
                      const TraceOptions& options) {
  const TraceFormat& found =
      format.empty() ? Recognised(input.get()) : Named(format, input->File());
  return {&found, found.open(std::move(input), options)};
}

}  // namespace cosched
