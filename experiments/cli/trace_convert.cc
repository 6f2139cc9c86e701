// `cosched trace convert`: a trace, or a part of it, in another format.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "experiments/cli/trace.h"
#include "experiments/cli/typed_option.h"
#include "experiments/config/option_refusal.h"
#include "traces/input/formats.h"
#include "traces/input/numbers.h"
#include "traces/selection.h"
#include "traces/survey.h"
#include "traces/writers.h"

namespace cosched {
namespace {

constexpr double kLargestSpeedup = 1e9;
constexpr double kLeastShare = std::numeric_limits<double>::denorm_min();

struct ConvertArguments {
  std::string in;
  std::string out;
  std::string to;
  TraceFileArguments input;
  std::string window;
  TraceSelection selection;
};

// START:LENGTH in seconds; either may be left out.
void ParseWindow(const std::string& text, TraceSelection* selection) {
  constexpr const char* kAllowed =
      "START:LENGTH in seconds from the first arrival, e.g. 600:300, :300 or 600:";
  constexpr Duration kLongest = std::chrono::seconds(1'000'000'000);
  const size_t colon = text.find(':');
  if (colon == std::string::npos) RefuseValue("--window", text, kAllowed);
  const std::string start = text.substr(0, colon), length = text.substr(colon + 1);
  if (!start.empty() && (!ParseSeconds(start, &selection->start) ||
                         selection->start < Duration{0} || selection->start > kLongest)) {
    RefuseValue("--window", text, kAllowed);
  }
  if (length.empty()) return;
  Duration parsed{0};
  if (!ParseSeconds(length, &parsed) || parsed <= Duration{0} || parsed > kLongest)
    RefuseValue("--window", text, kAllowed);
  selection->length = parsed;
}

TraceSelection Selection(const ConvertArguments& arguments) {
  TraceSelection selection = arguments.selection;
  if (!arguments.window.empty()) ParseWindow(arguments.window, &selection);
  return selection;
}

void CheckPaths(const ConvertArguments& arguments) {
  std::error_code error;
  if (std::filesystem::exists(arguments.in, error) &&
      !std::filesystem::is_regular_file(arguments.in, error)) {
    throw InputError({.file = arguments.in,
                      .problem = "is no regular file",
                      .allowed = "a file: converting reads it twice"});
  }
  if (std::filesystem::equivalent(arguments.in, arguments.out, error))
    RefuseValue("OUT", arguments.out, "another file than IN");
}

struct ConvertedTrace {
  const TraceFormat* format;
  std::unique_ptr<SelectedTrace> reader;
};

ConvertedTrace OpenConverted(const ConvertArguments& arguments, const TraceSelection& selection) {
  OpenedTrace trace = OpenTraceFile(arguments.in, arguments.input);
  return {trace.format, std::make_unique<SelectedTrace>(std::move(trace.reader), selection)};
}

void PrintSummary(const ConvertArguments& arguments, const TraceSurvey& survey,
                  const TraceReader::Counts& counts, const std::vector<std::string>& losses) {
  fmt::print("{}: {} arrivals from {} rows of {} ({})\n", arguments.out, survey.arrivals(),
             counts.rows, arguments.in, survey.format);
  if (counts.skipped > 0) {
    fmt::print("skipped: {} malformed rows; the first: {}\n", counts.skipped, counts.first_skipped);
  }
  if (losses.empty()) fmt::print("lost: nothing\n");
  for (const std::string& loss : losses) fmt::print("lost: {}\n", loss);
}

int Convert(const ConvertArguments& arguments) {
  const TraceTarget& target = FindTraceTarget(arguments.to);
  const TraceSelection selection = Selection(arguments);
  CheckPaths(arguments);
  ConvertedTrace first = OpenConverted(arguments, selection);
  const TraceSurvey survey = Survey(first.reader.get(), std::string(first.format->name));
  if (survey.arrivals() == 0) {
    throw InputError({.file = arguments.in,
                      .problem = "no arrival is left by --window and --sample",
                      .allowed = "a window within the trace, a larger sample"});
  }
  const std::unique_ptr<TraceWriter> writer = target.make(survey);
  const ConvertedTrace second = OpenConverted(arguments, selection);
  WriteTrace(second.reader.get(), writer.get(), arguments.out);
  PrintSummary(arguments, survey, second.reader->RowCounts(), target.losses(survey));
  return 0;
}

}  // namespace

void AddTraceConvertCommand(CLI::App& trace, int* exit_code) {
  CLI::App* command = trace.add_subcommand(
      "convert", "Write a trace, or a part of it, in another format, and say what is lost");
  const auto arguments = std::make_shared<ConvertArguments>();
  std::string targets;
  for (const TraceTarget& target : TraceTargets())
    targets += fmt::format("{}{} ({})", targets.empty() ? "" : ", ", target.name, target.summary);
  command->add_option("IN", arguments->in, "The trace; may be packed (gzip, bzip2, xz)")
      ->required();
  command->add_option("OUT", arguments->out, "The file to write; replaced if it is there")
      ->required();
  command->add_option("--to", arguments->to, "Its format: " + targets)->required();
  AddTraceFileOptions(command, &arguments->input);
  command->add_option("--window", arguments->window,
                      "Only START:LENGTH, in the file's seconds from its first arrival");
  AddNumber(command, "--sample", &arguments->selection.sample, kLeastShare, 1,
            "Keep each arrival with this probability", "a share above 0 up to 1")
      ->type_name("FLOAT:above 0..1");
  AddNumber(command, "--speedup", &arguments->selection.speedup, 1 / kLargestSpeedup,
            kLargestSpeedup, "Arrivals come so many times as fast",
            "a factor from 1e-9 to 1e9; 60: 60 times as fast");
  AddNumber(command, "--seed", &arguments->selection.seed, 0, std::numeric_limits<uint64_t>::max(),
            "Of the sample");
  command->callback([arguments, exit_code] { *exit_code = Convert(*arguments); });
}

}  // namespace cosched
