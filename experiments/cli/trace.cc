#include "experiments/cli/trace.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "engine/base/error.h"

namespace cosched {

void AddTraceCommand(CLI::App& app, int* exit_code) {
  CLI::App* trace =
      app.add_subcommand("trace", "Explain, convert and generate traces of jobs and requests");
  trace->require_subcommand(1);
  AddTraceDescribeCommand(*trace, exit_code);
  AddTraceConvertCommand(*trace, exit_code);
}

void AddTraceFileOptions(CLI::App* command, TraceFileArguments* arguments) {
  command->add_option("--format", arguments->format,
                      "The trace's format (cosched list formats); default: found by its content");
  command
      ->add_option("--on-bad-row", arguments->on_bad_row,
                   "error: a malformed row ends it all; skip: such rows are left out and counted")
      ->capture_default_str();
}

OpenedTrace Open(const std::string& file, const TraceFileArguments& arguments) {
  TraceOptions options;
  if (arguments.on_bad_row == "skip") {
    options.on_bad_row = OnBadRow::kSkip;
  } else if (arguments.on_bad_row != "error") {
    throw InputError({.file = "command line",
                      .key = "--on-bad-row",
                      .problem = fmt::format("\"{}\"", arguments.on_bad_row),
                      .allowed = "error, skip"});
  }
  return OpenTrace(file, arguments.format, options);
}

}  // namespace cosched
